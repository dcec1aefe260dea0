/* Words for binary32 in Helium, which flushes denormals; float_portable.h says what they mean. */
#define FLOATS 4
typedef float32x4_t floats;
typedef float inputs; /* one: products take it from a general register */

INLINE floats floats_load(const float *p) { return vld1q_f32(p); }
INLINE floats floats_splat(float x) { return vdupq_n_f32(x); }
INLINE void floats_store(float *p, floats v) { vst1q_f32(p, v); }
INLINE floats floats_add(floats a, floats b) { return vaddq_f32(a, b); }
INLINE floats floats_subtract(floats a, floats b) { return vsubq_f32(a, b); }
INLINE floats floats_multiply(floats a, floats b) { return vmulq_f32(a, b); }
INLINE floats floats_divide(floats a, floats b) {
    float x[FLOATS], y[FLOATS];
    int32_t i;
    vst1q_f32(x, a), vst1q_f32(y, b);
    for (i = 0; i < FLOATS; i++) x[i] /= y[i];
    return vld1q_f32(x);
}
/* Where a < b. clang 14 makes that a comparison which is true of NaN where b is the same number in all lanes: such lanes of a stay out. */
INLINE mve_pred16_t floats_less(floats a, floats b) {
    const uint32x4_t size = vshlq_n_u32(vreinterpretq_u32_f32(a), 1);
    return vcmpgtq_m_f32(b, a, vcmpcsq_u32(vdupq_n_u32(0xff000000u), size));
}
INLINE floats floats_max(floats a, floats b) { return vpselq_f32(a, b, floats_less(b, a)); }
INLINE floats floats_min(floats a, floats b) { return vpselq_f32(a, b, floats_less(a, b)); }
INLINE floats floats_at_least(floats v, floats low) { return floats_max(low, v); }
INLINE floats floats_clamp(floats v, floats low, floats high) { return floats_min(high, floats_max(low, v)); }
INLINE floats floats_where_less(floats a, floats b, floats v, floats w) { return vpselq_f32(v, w, floats_less(a, b)); }
INLINE floats floats_accumulate(floats s, floats a, floats b) { return vfmaq_f32(s, a, b); }
INLINE float floats_largest(floats v) {
    const float a = vgetq_lane_f32(v, 0), b = vgetq_lane_f32(v, 1), c = vgetq_lane_f32(v, 2), d = vgetq_lane_f32(v, 3);
    const float low = a > b ? a : b, high = c > d ? c : d;
    return low > high ? low : high;
}
INLINE floats floats_scale(floats y, floats n) {
    const int32x4_t whole = vaddq_n_s32(vcvtq_s32_f32(n), 256), half = vshrq_n_s32(whole, 1);
    const int32x4_t first = vsubq_n_s32(half, 1), second = vsubq_n_s32(vsubq_s32(whole, half), 1);
    y = vmulq_f32(y, vreinterpretq_f32_s32(vshlq_n_s32(first, 23)));
    return vmulq_f32(y, vreinterpretq_f32_s32(vshlq_n_s32(second, 23)));
}
INLINE inputs inputs_load(const float *p) { return *p; }
#define floats_accumulate_input(s, w, x, k) vfmaq_n_f32(s, w, x)

INLINE floats floats_load_some(const float *p, int32_t n) { return vld1q_z_f32(p, vctp32q((uint32_t)n)); }
INLINE void floats_store_some(float *p, floats v, int32_t n) { vst1q_p_f32(p, v, vctp32q((uint32_t)n)); }
