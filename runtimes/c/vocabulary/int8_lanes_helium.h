/* Sixteen int32 lanes in four registers of Helium, the vectors of Cortex-M55; activations are int8. */

typedef struct { int32x4_t a, b, c, d; } lanes_t;

/* Conversion saturates, so that whole numbers are bounded. */
INLINE int32x4_t bounded(int32x4_t v, float low, float high) {
    return vminq_s32(vmaxq_s32(v, vdupq_n_s32((int32_t)low)), vdupq_n_s32((int32_t)high));
}

/* One register of settle() without its bounds. */
INLINE int32x4_t requantize_4(int32x4_t sum, float32x4_t scale, float32x4_t behind, ending_t e) {
    (void)e; /* without a function nobody reads it */
    return vcvtnq_s32_f32(shaped_by(vmulq_f32(vcvtq_f32_s32(sum), scale), behind, e));
}

INLINE lanes_t settle(lanes_t sum, const float *scale, ending_t e) {
    const float *const behind = multipliers_of(scale, e);
    sum.a = bounded(requantize_4(sum.a, vld1q_f32(scale), vld1q_f32(behind), e), e.low, e.high);
    sum.b = bounded(requantize_4(sum.b, vld1q_f32(scale + 4), vld1q_f32(behind + 4), e), e.low, e.high);
    sum.c = bounded(requantize_4(sum.c, vld1q_f32(scale + 8), vld1q_f32(behind + 8), e), e.low, e.high);
    sum.d = bounded(requantize_4(sum.d, vld1q_f32(scale + 12), vld1q_f32(behind + 12), e), e.low, e.high);
    return sum;
}

INLINE int32x4_t add_residual_4(int32x4_t v, float v_scale, int32x4_t r, int32_t zero, float r_scale) {
    const float32x4_t a = vmulq_n_f32(vcvtq_f32_s32(v), v_scale);
    return vcvtnq_s32_f32(vaddq_f32(a, vmulq_n_f32(vcvtq_f32_s32(vsubq_n_s32(r, zero)), r_scale)));
}

INLINE lanes_t add_residual(lanes_t v, float v_scale, lanes_t r, int32_t zero, float r_scale, float low, float high) {
    v.a = bounded(add_residual_4(v.a, v_scale, r.a, zero, r_scale), low, high);
    v.b = bounded(add_residual_4(v.b, v_scale, r.b, zero, r_scale), low, high);
    v.c = bounded(add_residual_4(v.c, v_scale, r.c, zero, r_scale), low, high);
    v.d = bounded(add_residual_4(v.d, v_scale, r.d, zero, r_scale), low, high);
    return v;
}

INLINE lanes_t load_lanes(const activation *x) {
    lanes_t v;
    v.a = vldrbq_s32(x);
    v.b = vldrbq_s32(x + 4);
    v.c = vldrbq_s32(x + 8);
    v.d = vldrbq_s32(x + 12);
    return v;
}

INLINE void store_lanes(activation *y, lanes_t v, int32_t zero) {
    vstrbq_s32(y, vaddq_n_s32(v.a, zero));
    vstrbq_s32(y + 4, vaddq_n_s32(v.b, zero));
    vstrbq_s32(y + 8, vaddq_n_s32(v.c, zero));
    vstrbq_s32(y + 12, vaddq_n_s32(v.d, zero));
}

INLINE void scale_lanes(float *y, lanes_t sum, const float *scale) {
    vst1q_f32(y, vmulq_f32(vcvtq_f32_s32(sum.a), vld1q_f32(scale)));
    vst1q_f32(y + 4, vmulq_f32(vcvtq_f32_s32(sum.b), vld1q_f32(scale + 4)));
    vst1q_f32(y + 8, vmulq_f32(vcvtq_f32_s32(sum.c), vld1q_f32(scale + 8)));
    vst1q_f32(y + 12, vmulq_f32(vcvtq_f32_s32(sum.d), vld1q_f32(scale + 12)));
}
