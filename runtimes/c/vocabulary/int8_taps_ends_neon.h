/* What depthwise sums begin with and end in, and taps as they lie in memory. */

typedef const float *scales_t;

INLINE sums_t load_sums_16(const int32_t *bias) {
    sums_t sums;
    sums.a = vld1q_s32(bias);
    sums.b = vld1q_s32(bias + 4);
    sums.c = vld1q_s32(bias + 8);
    sums.d = vld1q_s32(bias + 12);
    return sums;
}

INLINE scales_t load_scales_16(const float *scale) { return scale; }

INLINE void store_sums_16(activation *y, sums_t sums, scales_t scale, ending_t e, int32_t zero) {
    vst1q_s8(y, pack_codes(settle_unbound(sums, scale, e), zero, (int32_t)e.low + zero, (int32_t)e.high + zero));
}

/* store_sums_16 where there may be any codes. */
INLINE void store_whole_16(activation *y, sums_t sums, scales_t scale, ending_t e, int32_t zero) {
    vst1q_s8(y, saturated_codes(settle_unbound(sums, scale, e), zero));
}

/* store_sums_16 where sums end by `rounding`, as ConvInt8 says. */
INLINE void store_rounded_16(activation *y, sums_t sums, scales_t scale, float rounding) { vst1q_s8(y, rounded_codes(sums, scale, rounding)); }

INLINE taps_t load_taps_16(const activation *x0, const activation *x1, const activation *x2, const activation *x3) {
    return load_filters_16(x0, x1, x2, x3);
}

INLINE int8x16_t load_row(const activation *x) { return vld1q_s8(x); }
INLINE void store_row(activation *y, int8x16_t row) { vst1q_s8(y, row); }
