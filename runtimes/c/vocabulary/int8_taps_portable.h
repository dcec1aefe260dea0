/* Depthwise words in plain C: one tap of 16 channels at a time.

   A step takes TAPS taps of a run of channels: 16 of them, or more where registers are wider. The number in a word's name is that
   run; a register then holds as many pixels as fit, and their addresses are separate arguments, tap by tap.
   sums_t        running sums; load_sums begins with the bias.
   filters_t     the weights of those taps, for each of the pixels; taps_t the pixels' own channels under the taps.
   scales_t      the scales that requantize the sums.
   add_taps      sums + the products of filters and taps, each exact.
   store_sums    requantizes and stores the channels of each pixel. */

typedef lanes_t sums_t;
typedef struct { const int8_t *w; } filters_t;
typedef struct { const activation *x; } taps_t;
typedef const float *scales_t;

INLINE sums_t load_sums_16(const int32_t *bias) { return start(bias); }

INLINE filters_t load_filters_16(const int8_t *w0) {
    filters_t filters;
    filters.w = w0;
    return filters;
}

INLINE taps_t load_taps_16(const activation *x0) {
    taps_t taps;
    taps.x = x0;
    return taps;
}

INLINE sums_t add_taps(sums_t sums, filters_t filters, taps_t taps) {
    int i;
    for (i = 0; i < LANES; i++) sums.lane[i] += filters.w[i] * taps.x[i];
    return sums;
}

INLINE scales_t load_scales_16(const float *scale) { return scale; }

INLINE void store_sums_16(activation *y, sums_t sums, scales_t scale, ending_t e, int32_t zero) {
    store_lanes(y, settle(sums, scale, e), zero);
}
