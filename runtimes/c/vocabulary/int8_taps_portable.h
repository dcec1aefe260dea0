/* Depthwise words in plain C: one tap of 16 channels at a time.

   load_sums     the bias of 16 channels.
   filters_t     TAPS rows of 16 weights; taps_t the 16 channels of one pixel under each of those taps.
   add_taps      sums + the products of filters and taps, each exact. */

typedef struct { const int8_t *w; } filters_t;
typedef struct { const activation *x; } taps_t;

INLINE lanes_t load_sums(const int32_t *bias) { return start(bias); }

INLINE filters_t load_filters(const int8_t *w0) {
    filters_t filters;
    filters.w = w0;
    return filters;
}

INLINE taps_t load_taps(const activation *x0) {
    taps_t taps;
    taps.x = x0;
    return taps;
}

INLINE lanes_t add_taps(lanes_t sums, filters_t filters, taps_t taps) {
    int i;
    for (i = 0; i < LANES; i++) sums.lane[i] += filters.w[i] * taps.x[i];
    return sums;
}
