/* Depthwise words: codes are widened as they are loaded, and their products fit 16 bits. */

typedef struct { eight_t low, high; } sums_t;
typedef struct { const int8_t *w; } filters_t;
typedef struct { const activation *x; } taps_t;
typedef const float *scales_t;

INLINE eight_t add_products(eight_t sum, int16x8_t products) {
    sum.even = vaddq_s32(sum.even, vmovlbq_s16(products));
    sum.odd = vaddq_s32(sum.odd, vmovltq_s16(products));
    return sum;
}

INLINE sums_t load_sums_16(const int32_t *bias) {
    sums_t sums;
    sums.low = load_eight(bias);
    sums.high = load_eight(bias + 8);
    return sums;
}

INLINE filters_t load_filters_16(const int8_t *w) {
    filters_t filters;
    filters.w = w;
    return filters;
}

INLINE taps_t load_taps_16(const activation *x) {
    taps_t taps;
    taps.x = x;
    return taps;
}

INLINE sums_t add_taps(sums_t sums, filters_t filters, taps_t taps) {
    sums.low = add_products(sums.low, vmulq_s16(vldrbq_s16(filters.w), vldrbq_s16(taps.x)));
    sums.high = add_products(sums.high, vmulq_s16(vldrbq_s16(filters.w + 8), vldrbq_s16(taps.x + 8)));
    return sums;
}

INLINE scales_t load_scales_16(const float *scale) { return scale; }

INLINE void store_sums_16(activation *y, sums_t sums, scales_t scale, ending_t e, int32_t zero) {
    const int16x8_t low = vdupq_n_s16((int16_t)((int32_t)e.low + zero)), high = vdupq_n_s16((int16_t)((int32_t)e.high + zero));
    const float *const behind = multipliers_of(scale, e);
    store_eight(y, settle_eight(sums.low, vld2q_f32(scale), vld2q_f32(behind), e), zero, low, high, vctp16q(8));
    store_eight(y + 8, settle_eight(sums.high, vld2q_f32(scale + 8), vld2q_f32(behind + 8), e), zero, low, high, vctp16q(8));
}
