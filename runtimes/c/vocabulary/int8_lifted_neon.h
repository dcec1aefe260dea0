/* Tiles of convolutions whose sums are lifted. */

INLINE void lift_sums(int32_t *to, const int32_t *bias, int32_t count) {
    int32_t i;
    for (i = 0; i < count; i += 4) vst1q_s32(to + i, vaddq_s32(vld1q_s32(bias + i), vdupq_n_s32(LIFTED)));
}

INLINE void store_lifted(activation *y, lanes_t sums, const float *scale, const float *ends, float rounding) {
    vst1q_s8(y, lifted_codes(sums, scale, ends, rounding));
}

INLINE void store_lifted_half(activation *y, ptrdiff_t stride, lanes_t sums, const float *scale, const float *ends, float rounding) {
    store_two(y, y + stride, lifted_codes(sums, scale, ends, rounding));
}
