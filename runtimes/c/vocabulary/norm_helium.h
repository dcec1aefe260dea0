/* Rows of codes that are normalized. */
INLINE lanes_t square_lanes(lanes_t sum, lanes_t v) {
    sum.a = vaddq_s32(sum.a, vmulq_s32(v.a, v.a));
    sum.b = vaddq_s32(sum.b, vmulq_s32(v.b, v.b));
    sum.c = vaddq_s32(sum.c, vmulq_s32(v.c, v.c));
    sum.d = vaddq_s32(sum.d, vmulq_s32(v.d, v.d));
    return sum;
}

INLINE int32x4_t normalize_4(int32x4_t v, float count, float sum, float factor, const float *scale, const float *offset, float low,
                           float high) {
    const float32x4_t apart = vsubq_n_f32(vmulq_n_f32(vcvtq_f32_s32(v), count), sum);
    const float32x4_t scaled = vmulq_f32(vmulq_n_f32(apart, factor), vld1q_f32(scale));
    return bounded(vcvtnq_s32_f32(vaddq_f32(scaled, vld1q_f32(offset))), low, high);
}

INLINE lanes_t normalize_lanes(lanes_t v, float count, float sum, float factor, const float *scale, const float *offset, float low,
                               float high) {
    v.a = normalize_4(v.a, count, sum, factor, scale, offset, low, high);
    v.b = normalize_4(v.b, count, sum, factor, scale + 4, offset + 4, low, high);
    v.c = normalize_4(v.c, count, sum, factor, scale + 8, offset + 8, low, high);
    v.d = normalize_4(v.d, count, sum, factor, scale + 12, offset + 12, low, high);
    return v;
}
