/* Every source starts with this: results are the same bits everywhere only while a * b + c is two roundings.
   Nothing here reads floating-point exception flags; gcc vectorizes comparisons only when it knows that. */
#if defined(__FAST_MATH__)
#error "compile without -ffast-math: it changes results"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off,no-trapping-math")
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif
