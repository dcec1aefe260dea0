/* Sixteen int32 lanes in four NEON registers (armv7: no rounding conversion, so an addition rounds). */

typedef struct { int32x4_t a, b, c, d; } lanes_t;

INLINE int32x4_t round_clamped(float32x4_t v, float low, float high) {
    const float32x4_t magic = vdupq_n_f32(12582912.0f); /* 1.5 * 2^23: the sum's low bits are the nearest even integer */
    const float32x4_t sum = vaddq_f32(vminq_f32(vmaxq_f32(v, vdupq_n_f32(low)), vdupq_n_f32(high)), magic);
    return vsubq_s32(vreinterpretq_s32_f32(sum), vreinterpretq_s32_f32(magic));
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

/* Bounded, because the addition rounds small numbers only. */
INLINE lanes_t settle_unbound(lanes_t sum, const float *scale, ending_t e) { return settle(sum, scale, e); }

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

/* What settle() makes of sums, and codes. */
INLINE lanes_t add_codes(lanes_t sums, const float *scale, ending_t e, float v_scale, int8x16_t codes, int32_t zero, float r_scale) {
    return add_residual(settle(sums, scale, e), v_scale, lanes_of_codes(codes), zero, r_scale, -255.0f, 255.0f);
}

INLINE int any_codes(int32_t low, int32_t high) { return low == INT8_MIN && high == INT8_MAX; }

/* The codes of a pixel. */
INLINE int8x16_t saturated_codes(lanes_t v, int32_t zero) {
    const int16x8_t zeros = vdupq_n_s16((int16_t)zero);
    const int16x8_t first = vqaddq_s16(vcombine_s16(vqmovn_s32(v.a), vqmovn_s32(v.b)), zeros);
    const int16x8_t second = vqaddq_s16(vcombine_s16(vqmovn_s32(v.c), vqmovn_s32(v.d)), zeros);
    return vcombine_s8(vqmovn_s16(first), vqmovn_s16(second));
}

/* Of four sums that end by `rounding`, as ConvInt8 says: the last 16 bits. */
INLINE int16x4_t rounded_four(int32x4_t sums, const float *scale, float rounding) {
    const float32x4_t v = vaddq_f32(vmulq_f32(vcvtq_f32_s32(sums), vld1q_f32(scale)), vdupq_n_f32(rounding));
    return vmovn_s32(vreinterpretq_s32_f32(v));
}

/* The codes of a pixel whose sums end so. */
INLINE int8x16_t rounded_codes(lanes_t sums, const float *scale, float rounding) {
    const int16x4_t a = rounded_four(sums.a, scale, rounding), b = rounded_four(sums.b, scale + 4, rounding);
    const int16x4_t c = rounded_four(sums.c, scale + 8, rounding), d = rounded_four(sums.d, scale + 12, rounding);
    return vcombine_s8(vqmovn_s16(vcombine_s16(a, b)), vqmovn_s16(vcombine_s16(c, d)));
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
INLINE int32x4_t add_high_products(int32x4_t sum, int16x8_t w, int16x4_t x) { return vmlal_lane_s16(sum, vget_high_s16(w), x, 1); }

/* Of upper halves. */
INLINE int32x4_t add_wide_high(int32x4_t sum, int16x8_t x) { return vaddw_s16(sum, vget_high_s16(x)); }
INLINE int16x8_t multiply_high(int8x16_t a, int8x16_t b) { return vmull_s8(vget_high_s8(a), vget_high_s8(b)); }
INLINE int16x8_t add_products_high(int16x8_t sum, int8x16_t a, int8x16_t b) { return vmlal_s8(sum, vget_high_s8(a), vget_high_s8(b)); }
