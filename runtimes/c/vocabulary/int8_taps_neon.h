/* Depthwise words: the products of two taps fit 16 bits because weights are in [-127, 127]. */

typedef lanes_t sums_t;
typedef struct { int8x16_t a, b; } filters_t, taps_t;
typedef const float *scales_t;

INLINE sums_t load_sums_16(const int32_t *bias) {
    sums_t sums;
    sums.a = vld1q_s32(bias);
    sums.b = vld1q_s32(bias + 4);
    sums.c = vld1q_s32(bias + 8);
    sums.d = vld1q_s32(bias + 12);
    return sums;
}

INLINE filters_t load_filters_16(const int8_t *w0, const int8_t *w1) {
    filters_t filters;
    filters.a = vld1q_s8(w0);
    filters.b = vld1q_s8(w1);
    return filters;
}

INLINE taps_t load_taps_16(const activation *x0, const activation *x1) { return load_filters_16(x0, x1); }

INLINE sums_t add_taps(sums_t sums, filters_t w, taps_t x) {
    const int16x8_t low = vmlal_s8(vmull_s8(vget_low_s8(w.a), vget_low_s8(x.a)), vget_low_s8(w.b), vget_low_s8(x.b));
    const int16x8_t high = vmlal_s8(vmull_s8(vget_high_s8(w.a), vget_high_s8(x.a)), vget_high_s8(w.b), vget_high_s8(x.b));
    sums.a = vaddw_s16(sums.a, vget_low_s16(low));
    sums.b = vaddw_s16(sums.b, vget_high_s16(low));
    sums.c = vaddw_s16(sums.c, vget_low_s16(high));
    sums.d = vaddw_s16(sums.d, vget_high_s16(high));
    return sums;
}

INLINE scales_t load_scales_16(const float *scale) { return scale; }

INLINE void store_sums_16(activation *y, sums_t sums, scales_t scale, ending_t e, int32_t zero) {
    vst1q_s8(y, pack_one(settle_unbound(sums, scale, e), zero, (int32_t)e.low + zero, (int32_t)e.high + zero));
}
