/* Depthwise words: four taps are interleaved byte by byte, so that sdot adds all four products to each lane. */

typedef lanes_t sums_t;
typedef struct { int8x16_t q0, q1, q2, q3; } filters_t, taps_t; /* four channels each */

INLINE taps_t interleaved(int8x16_t x0, int8x16_t x1, int8x16_t x2, int8x16_t x3) {
    const int8x16x2_t first = vzipq_s8(x0, x1), second = vzipq_s8(x2, x3);
    const int16x8x2_t low = vzipq_s16(vreinterpretq_s16_s8(first.val[0]), vreinterpretq_s16_s8(second.val[0]));
    const int16x8x2_t high = vzipq_s16(vreinterpretq_s16_s8(first.val[1]), vreinterpretq_s16_s8(second.val[1]));
    taps_t taps;
    taps.q0 = vreinterpretq_s8_s16(low.val[0]);
    taps.q1 = vreinterpretq_s8_s16(low.val[1]);
    taps.q2 = vreinterpretq_s8_s16(high.val[0]);
    taps.q3 = vreinterpretq_s8_s16(high.val[1]);
    return taps;
}

INLINE filters_t load_filters_16(const int8_t *w0, const int8_t *w1, const int8_t *w2, const int8_t *w3) {
    return interleaved(vld1q_s8(w0), vld1q_s8(w1), vld1q_s8(w2), vld1q_s8(w3));
}

/* Sixteen codes, and x is `step` further. */
INLINE int8x16_t next_codes(const activation **x, ptrdiff_t step) {
    int8x16_t codes;
#if defined(__GNUC__) && !defined(__clang__) /* which would add by another instruction */
    __asm__("ld1 {%0.16b}, [%1], %2" : "=w"(codes), "+r"(*x) : "r"(step), "m"(*(const activation(*)[16])*x));
#else
    codes = vld1q_s8(*x);
    *x += step;
#endif
    return codes;
}

/* Of pixels, and where the next ones are. */
INLINE taps_t next_taps_16(const activation **x0, ptrdiff_t step0, const activation **x1, ptrdiff_t step1, const activation **x2, ptrdiff_t step2,
                           const activation **x3, ptrdiff_t step3) {
    return interleaved(next_codes(x0, step0), next_codes(x1, step1), next_codes(x2, step2), next_codes(x3, step3));
}

/* Of four channels. */
typedef int32x4_t quarter_t;
typedef int8x16_t codes_t;

INLINE quarter_t add_quarter(quarter_t sum, codes_t w, codes_t x) { return vdotq_s32(sum, w, x); }

INLINE sums_t add_taps(sums_t sums, filters_t w, taps_t x) {
    sums.a = vdotq_s32(sums.a, w.q0, x.q0);
    sums.b = vdotq_s32(sums.b, w.q1, x.q1);
    sums.c = vdotq_s32(sums.c, w.q2, x.q2);
    sums.d = vdotq_s32(sums.d, w.q3, x.q3);
    return sums;
}
