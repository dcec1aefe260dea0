/* Every source starts with this: results are the same bits everywhere only while a * b + c is two roundings.
   Nothing here reads floating-point exception flags; gcc vectorizes comparisons only when it knows that. At -O3 gcc 12 takes a zero
   that a loop stores first for a memset of its own, and makes it behind what the loop stores afterwards: it may not look for those. Nor
   for functions that store nothing, whose calls it leaves out: where it counts on from the difference of two addresses it takes what a
   loop stores for nothing. */
#if defined(__FAST_MATH__)
#error "compile without -ffast-math: it changes results"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off,no-trapping-math,no-tree-loop-distribute-patterns,no-ipa-pure-const")
#if __GNUC__ >= 11
#pragma GCC optimize("no-ipa-modref")
#endif
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif
/* SCALAR functions, and those between SCALAR_BEGIN and SCALAR_END, compute with floats: clang for ARMv7 may not join these in
   NEON registers, which flush denormals, nor inline the functions where it may. gcc never does, other processors don't flush, and
   those of microcontrollers have none. */
#if defined(__clang__) && defined(__arm__) && __ARM_ARCH_PROFILE != 'M'
#define SCALAR __attribute__((target("no-neon"), noinline))
#define SCALAR_BEGIN _Pragma("clang attribute push(__attribute__((target(\"no-neon\"))), apply_to = function)")
#define SCALAR_END _Pragma("clang attribute pop")
#else
#define SCALAR
#define SCALAR_BEGIN
#define SCALAR_END
#endif
/* gcc for ARM would move sums that fill all registers about where functions grow together: APART ones stay alone. */
#if defined(__GNUC__) && !defined(__clang__) && (defined(__aarch64__) || defined(__arm__))
#define APART __attribute__((noinline))
/* A pointer to what gcc knows nothing of: it loads that anew, not copies it, and makes pairs of the loads and stores behind it. */
#define ANEW(p) __asm__("" : "+r"(p))
#define ANEW_EACH(p) __asm__ volatile("" : "+r"(p)) /* in each round of a loop, too */
#else
#define APART
#define ANEW(p) (void)0
#define ANEW_EACH(p) (void)0
#endif
