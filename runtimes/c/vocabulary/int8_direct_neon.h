/* Depthwise words without interleaving: the products of two taps fit 16 bits because one weight of a channel at most is -128. */

typedef int8x16_t run_t;

/* Filters stay as they are: gcc otherwise keeps halves of them in other registers, too. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__aarch64__)
#define KEPT_RUN(w) __asm__("" : "+w"(w))
#else
#define KEPT_RUN(w) (void)(w)
#endif

INLINE run_t load_run(const activation *x) { return vld1q_s8(x); }

/* The sums and 16 numbers more, of 16 bits. */
INLINE sums_t add_wide(sums_t sums, int16x8_t low, int16x8_t high) {
    sums.a = vaddw_s16(sums.a, vget_low_s16(low));
    sums.b = add_wide_high(sums.b, low);
    sums.c = vaddw_s16(sums.c, vget_low_s16(high));
    sums.d = add_wide_high(sums.d, high);
    return sums;
}

INLINE sums_t add_one(sums_t sums, run_t x, run_t w) { return add_wide(sums, vmull_s8(vget_low_s8(x), vget_low_s8(w)), multiply_high(x, w)); }

INLINE sums_t add_two(sums_t sums, run_t x0, run_t w0, run_t x1, run_t w1) {
    const int16x8_t low = vmlal_s8(vmull_s8(vget_low_s8(x0), vget_low_s8(w0)), vget_low_s8(x1), vget_low_s8(w1));
    return add_wide(sums, low, add_products_high(multiply_high(x0, w0), x1, w1));
}
