/* Depthwise words, four taps at a time: rows are interleaved in pairs, and the products of two pairs fit 16 bits because one weight of a
   channel at most is -128; addition of neighbours then joins all four in 32 bits. */

typedef lanes_t sums_t;
typedef struct { int8x16_t q0, q1, q2, q3; } filters_t, taps_t; /* taps 0 and 1 of channels 0 to 7 and 8 to 15, taps 2 and 3 of these */

INLINE filters_t load_filters_16(const int8_t *w0, const int8_t *w1, const int8_t *w2, const int8_t *w3) {
    const int8x16x2_t first = vzipq_s8(vld1q_s8(w0), vld1q_s8(w1)), second = vzipq_s8(vld1q_s8(w2), vld1q_s8(w3));
    filters_t filters;
    filters.q0 = first.val[0];
    filters.q1 = first.val[1];
    filters.q2 = second.val[0];
    filters.q3 = second.val[1];
    return filters;
}

/* Four channels more: of w and x, taps 0 and 1 of them, then taps 2 and 3. */
INLINE int32x4_t add_four(int32x4_t sum, int8x8_t w0, int8x8_t x0, int8x8_t w1, int8x8_t x1) {
    return vpadalq_s16(sum, vmlal_s8(vmull_s8(w0, x0), w1, x1));
}

INLINE sums_t add_taps(sums_t sums, filters_t w, taps_t x) {
    sums.a = add_four(sums.a, vget_low_s8(w.q0), vget_low_s8(x.q0), vget_low_s8(w.q2), vget_low_s8(x.q2));
    sums.b = add_four(sums.b, vget_high_s8(w.q0), vget_high_s8(x.q0), vget_high_s8(w.q2), vget_high_s8(x.q2));
    sums.c = add_four(sums.c, vget_low_s8(w.q1), vget_low_s8(x.q1), vget_low_s8(w.q3), vget_low_s8(x.q3));
    sums.d = add_four(sums.d, vget_high_s8(w.q1), vget_high_s8(x.q1), vget_high_s8(w.q3), vget_high_s8(x.q3));
    return sums;
}
