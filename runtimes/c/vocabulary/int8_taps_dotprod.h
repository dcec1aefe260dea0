/* Depthwise words: four taps are interleaved byte by byte, so that sdot adds all four products to each lane. */

typedef lanes_t sums_t;
typedef struct { int8x16_t q0, q1, q2, q3; } filters_t, taps_t; /* four channels each */

INLINE filters_t load_filters_16(const int8_t *w0, const int8_t *w1, const int8_t *w2, const int8_t *w3) {
    const int8x16x2_t first = vzipq_s8(vld1q_s8(w0), vld1q_s8(w1)), second = vzipq_s8(vld1q_s8(w2), vld1q_s8(w3));
    const int16x8x2_t low = vzipq_s16(vreinterpretq_s16_s8(first.val[0]), vreinterpretq_s16_s8(second.val[0]));
    const int16x8x2_t high = vzipq_s16(vreinterpretq_s16_s8(first.val[1]), vreinterpretq_s16_s8(second.val[1]));
    filters_t filters;
    filters.q0 = vreinterpretq_s8_s16(low.val[0]);
    filters.q1 = vreinterpretq_s8_s16(low.val[1]);
    filters.q2 = vreinterpretq_s8_s16(high.val[0]);
    filters.q3 = vreinterpretq_s8_s16(high.val[1]);
    return filters;
}

INLINE sums_t add_taps(sums_t sums, filters_t w, taps_t x) {
    sums.a = vdotq_s32(sums.a, w.q0, x.q0);
    sums.b = vdotq_s32(sums.b, w.q1, x.q1);
    sums.c = vdotq_s32(sums.c, w.q2, x.q2);
    sums.d = vdotq_s32(sums.d, w.q3, x.q3);
    return sums;
}
