/* Depthwise: three taps of four channels at a time, each code widened by SXTB16 and multiplied by SMLABB or SMLATT. */

typedef lanes_t sums_t;
typedef struct { const int8_t *w[3]; } filters_t;
typedef struct { const activation *x[3]; } taps_t;
typedef const float *scales_t;

INLINE sums_t load_sums_16(const int32_t *bias) {
    sums_t sums;
    int i;
    for (i = 0; i < LANES; i++) sums.lane[i] = bias[i];
    return sums;
}

INLINE filters_t load_filters_16(const int8_t *w0, const int8_t *w1, const int8_t *w2) {
    filters_t filters;
    filters.w[0] = w0;
    filters.w[1] = w1;
    filters.w[2] = w2;
    return filters;
}

INLINE taps_t load_taps_16(const activation *x0, const activation *x1, const activation *x2) {
    taps_t taps;
    taps.x[0] = x0;
    taps.x[1] = x1;
    taps.x[2] = x2;
    return taps;
}

INLINE sums_t add_taps(sums_t sums, filters_t filters, taps_t taps) {
    int i, tap;
    for (i = 0; i < LANES; i += 4) {
        int32_t s0 = sums.lane[i], s1 = sums.lane[i + 1], s2 = sums.lane[i + 2], s3 = sums.lane[i + 3];
        for (tap = 0; tap < 3; tap++) {
            const int32_t w = four_codes(filters.w[tap] + i), x = four_codes(taps.x[tap] + i);
            const int32_t w_even = even_codes(w), w_odd = odd_codes(w), x_even = even_codes(x), x_odd = odd_codes(x);
            s0 = __smlabb(w_even, x_even, s0);
            s1 = __smlabb(w_odd, x_odd, s1);
            s2 = __smlatt(w_even, x_even, s2);
            s3 = __smlatt(w_odd, x_odd, s3);
        }
        __asm__ volatile("" : "+r"(s0), "+r"(s1), "+r"(s2), "+r"(s3)); /* four after the other, as in dot */
        sums.lane[i] = s0;
        sums.lane[i + 1] = s1;
        sums.lane[i + 2] = s2;
        sums.lane[i + 3] = s3;
    }
    return sums;
}

INLINE scales_t load_scales_16(const float *scale) { return scale; }

INLINE void store_sums_16(activation *y, sums_t sums, scales_t scale, ending_t e, int32_t zero) {
    store_lanes(y, settle(sums, scale, e), zero);
}
