/* Two pixels of half a panel lie in a register one after the other. */

INLINE void scales_of_two(float *to, const float *scale) {
    memcpy(to, scale, sizeof *to * LANES / 2);
    memcpy(to + LANES / 2, scale, sizeof *to * LANES / 2);
}

INLINE int8x16_t load_two(const activation *x0, const activation *x1) { return vcombine_s8(vld1_s8(x0), vld1_s8(x1)); }

INLINE void store_two(activation *y0, activation *y1, int8x16_t codes) {
    vst1_s8(y0, vget_low_s8(codes));
    vst1_s8(y1, vget_high_s8(codes));
}
