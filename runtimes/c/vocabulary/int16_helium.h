/* Words for products of 16-bit codes in Helium; int16_portable.h says what they mean. Doubles are the processor's own, one by one. */
typedef int16x8_t pairs;
typedef int16x8_t twos;
typedef int32x4_t sums16;

INLINE pairs pairs_load(const int8_t *w) { return vldrbq_s16(w); }

INLINE twos twos_load(const int16_t *x) {
    uint32_t both;
    memcpy(&both, x, sizeof both);
    return vreinterpretq_s16_u32(vdupq_n_u32(both));
}

INLINE twos twos_last(const int16_t *x) { return vreinterpretq_s16_u32(vdupq_n_u32((uint16_t)*x)); }
INLINE sums16 sums16_zero(void) { return vdupq_n_s32(0); }
INLINE sums16 sums16_add(sums16 sum, pairs w, twos x) { return vaddq_s32(vaddq_s32(sum, vmullbq_int_s16(w, x)), vmulltq_int_s16(w, x)); }

INLINE void totals_add(double *total, const double *before, sums16 sum) {
    int32_t part[FLOATS], i;
    vst1q_s32(part, sum);
    for (i = 0; i < FLOATS; i++) total[i] = before[i] + part[i];
}

INLINE floats totals_scaled(const double *total, const float *scale) {
    float part[FLOATS];
    int32_t i;
    for (i = 0; i < FLOATS; i++) part[i] = (float)total[i];
    return vmulq_f32(vld1q_f32(part), vld1q_f32(scale));
}

INLINE void codes16_store(int16_t *y, floats v, int32_t zero) { vstrhq_s32(y, vaddq_n_s32(vcvtnq_s32_f32(v), zero)); }

INLINE sums16 sums16_each(sums16 sum, const int16_t *x, int32_t zero, const int8_t *w) {
    return vaddq_s32(sum, vmulq_s32(vsubq_n_s32(vldrhq_s32(x), zero), vldrbq_s32(w)));
}
