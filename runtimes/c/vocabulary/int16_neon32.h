/* ARMv7 has binary64 in scalars only, and its vectors flush denormals. */
INLINE void totals_add(double *total, const double *before, sums16 sum) {
    int32_t lanes[FLOATS];
    int i;
    vst1q_s32(lanes, sum);
    for (i = 0; i < FLOATS; i++) total[i] = before[i] + lanes[i];
}

INLINE floats totals_scaled(const double *total, const float *scale) {
    float lanes[FLOATS];
    int i;
    for (i = 0; i < FLOATS; i++) lanes[i] = (float)total[i] * scale[i];
    return vld1q_f32(lanes);
}

/* A number below 2^22 is rounded by the addition of 1.5 * 2^23. */
INLINE void codes16_store(int16_t *y, floats v, int32_t zero) {
    const float32x4_t magic = vdupq_n_f32(12582912.0f);
    vst1_s16(y, vmovn_s32(vaddq_s32(vcvtq_s32_f32(vsubq_f32(vaddq_f32(v, magic), magic)), vdupq_n_s32(zero))));
}
