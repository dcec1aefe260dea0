/* Sixteen int32 lanes in four NEON registers (aarch64). */

typedef struct { int32x4_t a, b, c, d; } lanes_t;

INLINE int32x4_t round_clamped(float32x4_t v, float low, float high) {
    return vcvtnq_s32_f32(vminq_f32(vmaxq_f32(v, vdupq_n_f32(low)), vdupq_n_f32(high)));
}

INLINE int32x4_t requantize_4(int32x4_t sum, const float *scale, ending_t e) {
    return round_clamped(shaped(vmulq_f32(vcvtq_f32_s32(sum), vld1q_f32(scale)), scale, e), e.low, e.high);
}

INLINE lanes_t settle(lanes_t sum, const float *scale, ending_t e) {
    sum.a = requantize_4(sum.a, scale, e);
    sum.b = requantize_4(sum.b, scale + 4, e);
    sum.c = requantize_4(sum.c, scale + 8, e);
    sum.d = requantize_4(sum.d, scale + 12, e);
    return sum;
}

/* settle() without its bounds: conversion and packing saturate. */
INLINE int32x4_t requantize_unbound_4(int32x4_t sum, const float *scale, ending_t e) {
    (void)e; /* without a function nobody reads it */
    return vcvtnq_s32_f32(shaped(vmulq_f32(vcvtq_f32_s32(sum), vld1q_f32(scale)), scale, e));
}

INLINE lanes_t settle_unbound(lanes_t sum, const float *scale, ending_t e) {
    sum.a = requantize_unbound_4(sum.a, scale, e);
    sum.b = requantize_unbound_4(sum.b, scale + 4, e);
    sum.c = requantize_unbound_4(sum.c, scale + 8, e);
    sum.d = requantize_unbound_4(sum.d, scale + 12, e);
    return sum;
}

INLINE int32x4_t add_residual_4(int32x4_t v, float v_scale, int32x4_t r, int32_t zero, float r_scale, float low, float high) {
    const float32x4_t a = vmulq_n_f32(vcvtq_f32_s32(v), v_scale);
    const float32x4_t b = vmulq_n_f32(vcvtq_f32_s32(vsubq_s32(r, vdupq_n_s32(zero))), r_scale);
    return round_clamped(vaddq_f32(a, b), low, high);
}

INLINE lanes_t add_residual(lanes_t v, float v_scale, lanes_t r, int32_t zero, float r_scale, float low, float high) {
    v.a = add_residual_4(v.a, v_scale, r.a, zero, r_scale, low, high);
    v.b = add_residual_4(v.b, v_scale, r.b, zero, r_scale, low, high);
    v.c = add_residual_4(v.c, v_scale, r.c, zero, r_scale, low, high);
    v.d = add_residual_4(v.d, v_scale, r.d, zero, r_scale, low, high);
    return v;
}

/* What requantize_4() gives, as floats. */
INLINE float32x4_t rounded_4(int32x4_t sum, const float *scale, ending_t e) {
    const float32x4_t v = shaped(vmulq_f32(vcvtq_f32_s32(sum), vld1q_f32(scale)), scale, e);
    return vrndnq_f32(vminq_f32(vmaxq_f32(v, vdupq_n_f32(e.low)), vdupq_n_f32(e.high)));
}

INLINE int32x4_t add_codes_4(float32x4_t v, float v_scale, int16x4_t r, float r_scale) {
    return vcvtnq_s32_f32(vaddq_f32(vmulq_n_f32(v, v_scale), vmulq_n_f32(vcvtq_f32_s32(vmovl_s16(r)), r_scale)));
}

/* add_residual() of what settle() makes of sums, without its own bounds. */
INLINE lanes_t add_codes(lanes_t sums, const float *scale, ending_t e, float v_scale, int8x16_t codes, int32_t zero, float r_scale) {
    const int8x16_t zeros = vdupq_n_s8((int8_t)zero);
    const int16x8_t low = vsubl_s8(vget_low_s8(codes), vget_low_s8(zeros)), high = vsubl_high_s8(codes, zeros);
    sums.a = add_codes_4(rounded_4(sums.a, scale, e), v_scale, vget_low_s16(low), r_scale);
    sums.b = add_codes_4(rounded_4(sums.b, scale + 4, e), v_scale, vget_high_s16(low), r_scale);
    sums.c = add_codes_4(rounded_4(sums.c, scale + 8, e), v_scale, vget_low_s16(high), r_scale);
    sums.d = add_codes_4(rounded_4(sums.d, scale + 12, e), v_scale, vget_high_s16(high), r_scale);
    return sums;
}

INLINE lanes_t lanes_of_codes(int8x16_t bytes) {
    const int16x8_t low = vmovl_s8(vget_low_s8(bytes)), high = vmovl_s8(vget_high_s8(bytes));
    lanes_t v;
    v.a = vmovl_s16(vget_low_s16(low));
    v.b = vmovl_s16(vget_high_s16(low));
    v.c = vmovl_s16(vget_low_s16(high));
    v.d = vmovl_s16(vget_high_s16(high));
    return v;
}

INLINE lanes_t load_lanes(const activation *x) { return lanes_of_codes(vld1q_s8(x)); }

INLINE int any_codes(int32_t low, int32_t high) { return low == INT8_MIN && high == INT8_MAX; }

/* The codes of a pixel. */
INLINE int8x16_t saturated_codes(lanes_t v, int32_t zero) {
    const int16x8_t zeros = vdupq_n_s16((int16_t)zero);
    const int16x8_t first = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(v.a), v.b), zeros);
    const int16x8_t second = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(v.c), v.d), zeros);
    return vqmovn_high_s16(vqmovn_s16(first), second);
}

/* Of sums that end by `rounding`, as ConvInt8 says: the last 16 bits of each. */
INLINE int16x8_t rounded_eight(int32x4_t a, int32x4_t b, const float *scale, float rounding) {
    const float32x4_t low = vaddq_f32(vmulq_f32(vcvtq_f32_s32(a), vld1q_f32(scale)), vdupq_n_f32(rounding));
    const float32x4_t high = vaddq_f32(vmulq_f32(vcvtq_f32_s32(b), vld1q_f32(scale + 4)), vdupq_n_f32(rounding));
    return vuzp1q_s16(vreinterpretq_s16_f32(low), vreinterpretq_s16_f32(high));
}

/* The codes of a pixel whose sums end so. */
INLINE int8x16_t rounded_codes(lanes_t sums, const float *scale, float rounding) {
    return vqmovn_high_s16(vqmovn_s16(rounded_eight(sums.a, sums.b, scale, rounding)), rounded_eight(sums.c, sums.d, scale + 8, rounding));
}

/* Sums in the last bits of floats that are 2^23 more: as floats they are what they are as integers, if none is 2^23 or more, and those less
   than 0 are some number less than 0, which will do where the least code is the zero point. What is 2^23 more ends by a multiplication that
   adds `ends`, the scales times -2^23, and rounds once: as the multiplication of the sum itself would. */
enum { LIFTED = 0x4b000000 }; /* the bits of 2^23 */

INLINE float32x4_t lifted_end(float32x4_t scale) { return vmulq_n_f32(scale, -8388608.0f); }

INLINE void lift_ends(float *ends, const float *scale) {
    int32_t i;
    for (i = 0; i < LANES; i += 4) vst1q_f32(ends + i, lifted_end(vld1q_f32(scale + i)));
}

INLINE float32x4_t lifted_four(int32x4_t sum, const float *scale, const float *ends, float rounding) {
    return vaddq_f32(vfmaq_f32(vld1q_f32(ends), vreinterpretq_f32_s32(sum), vld1q_f32(scale)), vdupq_n_f32(rounding));
}

INLINE int16x8_t lifted_eight(int32x4_t a, int32x4_t b, const float *scale, const float *ends, float rounding) {
    return vuzp1q_s16(vreinterpretq_s16_f32(lifted_four(a, scale, ends, rounding)),
                      vreinterpretq_s16_f32(lifted_four(b, scale + 4, ends + 4, rounding)));
}

INLINE int8x16_t lifted_codes(lanes_t sums, const float *scale, const float *ends, float rounding) {
    const int16x8_t high = lifted_eight(sums.c, sums.d, scale + 8, ends + 8, rounding);
    return vqmovn_high_s16(vqmovn_s16(lifted_eight(sums.a, sums.b, scale, ends, rounding)), high);
}

/* These, at least `low` and at most `high`. */
INLINE int8x16_t pack_codes(lanes_t v, int32_t zero, int32_t low, int32_t high) {
    return vminq_s8(vmaxq_s8(saturated_codes(v, zero), vdupq_n_s8((int8_t)low)), vdupq_n_s8((int8_t)high));
}

INLINE void store_lanes(activation *y, lanes_t v, int32_t zero) {
    const int16x8_t offset = vdupq_n_s16((int16_t)zero);
    const int16x8_t low = vaddq_s16(vcombine_s16(vmovn_s32(v.a), vmovn_s32(v.b)), offset);
    const int16x8_t high = vaddq_s16(vcombine_s16(vmovn_s32(v.c), vmovn_s32(v.d)), offset);
    vst1q_s8(y, vcombine_s8(vmovn_s16(low), vmovn_s16(high)));
}

INLINE void scale_lanes(float *y, lanes_t sum, const float *scale) {
    vst1q_f32(y, vmulq_f32(vcvtq_f32_s32(sum.a), vld1q_f32(scale)));
    vst1q_f32(y + 4, vmulq_f32(vcvtq_f32_s32(sum.b), vld1q_f32(scale + 4)));
    vst1q_f32(y + 8, vmulq_f32(vcvtq_f32_s32(sum.c), vld1q_f32(scale + 8)));
    vst1q_f32(y + 12, vmulq_f32(vcvtq_f32_s32(sum.d), vld1q_f32(scale + 12)));
}

/* sum + the last four of w times the second of x. */
INLINE int32x4_t add_high_products(int32x4_t sum, int16x8_t w, int16x4_t x) { return vmlal_high_lane_s16(sum, w, x, 1); }

/* Of upper halves. */
INLINE int32x4_t add_wide_high(int32x4_t sum, int16x8_t x) { return vaddw_high_s16(sum, x); }
INLINE int16x8_t multiply_high(int8x16_t a, int8x16_t b) { return vmull_high_s8(a, b); }
INLINE int16x8_t add_products_high(int16x8_t sum, int8x16_t a, int8x16_t b) { return vmlal_high_s8(sum, a, b); }
