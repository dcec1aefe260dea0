/* Depthwise sums that are lifted. */

INLINE sums_t lifted(sums_t sums) {
    const int32x4_t more = vdupq_n_s32(LIFTED);
    sums.a = vaddq_s32(sums.a, more);
    sums.b = vaddq_s32(sums.b, more);
    sums.c = vaddq_s32(sums.c, more);
    sums.d = vaddq_s32(sums.d, more);
    return sums;
}

INLINE void store_lifted_16(activation *y, sums_t sums, const float *scale, const float *ends, float rounding) {
    vst1q_s8(y, lifted_codes(sums, scale, ends, rounding));
}

/* Sixteen numbers. */
typedef struct { float32x4_t a, b, c, d; } reals_t;

INLINE reals_t lifted_reals(sums_t sums, const float *scale, const float *ends) {
    reals_t v;
    v.a = vfmaq_f32(vld1q_f32(ends), vreinterpretq_f32_s32(sums.a), vld1q_f32(scale));
    v.b = vfmaq_f32(vld1q_f32(ends + 4), vreinterpretq_f32_s32(sums.b), vld1q_f32(scale + 4));
    v.c = vfmaq_f32(vld1q_f32(ends + 8), vreinterpretq_f32_s32(sums.c), vld1q_f32(scale + 8));
    v.d = vfmaq_f32(vld1q_f32(ends + 12), vreinterpretq_f32_s32(sums.d), vld1q_f32(scale + 12));
    return v;
}

INLINE int16x8_t last_bits(float32x4_t a, float32x4_t b, float rounding) {
    const float32x4_t low = vaddq_f32(a, vdupq_n_f32(rounding)), high = vaddq_f32(b, vdupq_n_f32(rounding));
    return vuzp1q_s16(vreinterpretq_s16_f32(low), vreinterpretq_s16_f32(high));
}

INLINE int8x16_t codes_of_reals(reals_t v, float rounding) {
    return vqmovn_high_s16(vqmovn_s16(last_bits(v.a, v.b, rounding)), last_bits(v.c, v.d, rounding));
}

/* Of two pixels, all of whose multiplications begin before one of them ends. */
INLINE void store_two_lifted_16(activation *y0, activation *y1, sums_t sums0, sums_t sums1, const float *scale, const float *ends, float rounding) {
    reals_t v0, v1;
    int8x16_t codes0, codes1;
    ANEW(ends);
    v0 = lifted_reals(sums0, scale, ends);
    ANEW(ends); /* no register keeps them: multiplications add to them in their place */
    v1 = lifted_reals(sums1, scale, ends);
#if defined(__GNUC__) && !defined(__clang__)
    __asm__("" : "+w"(v0.a), "+w"(v0.b), "+w"(v0.c), "+w"(v0.d), "+w"(v1.a), "+w"(v1.b), "+w"(v1.c), "+w"(v1.d));
#endif
    codes0 = codes_of_reals(v0, rounding);
    codes1 = codes_of_reals(v1, rounding);
    vst1q_s8(y0, codes0);
    vst1q_s8(y1, codes1);
}
