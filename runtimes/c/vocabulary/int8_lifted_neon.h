/* Tiles of convolutions whose sums are lifted. */

INLINE void lift_sums(int32_t *to, const int32_t *bias, int32_t count) {
    int32_t i;
    for (i = 0; i < count; i += 4) vst1q_s32(to + i, vaddq_s32(vld1q_s32(bias + i), vdupq_n_s32(LIFTED)));
}
