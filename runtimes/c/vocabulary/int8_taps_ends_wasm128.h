/* What depthwise sums begin with and end in. */

typedef lanes_t sums_t;
typedef const float *scales_t;

INLINE sums_t load_sums_16(const int32_t *bias) {
    sums_t sums;
    sums.a = wasm_v128_load(bias);
    sums.b = wasm_v128_load(bias + 4);
    sums.c = wasm_v128_load(bias + 8);
    sums.d = wasm_v128_load(bias + 12);
    return sums;
}

INLINE scales_t load_scales_16(const float *scale) { return scale; }

INLINE void store_sums_16(activation *y, sums_t sums, scales_t scale, ending_t e, int32_t zero) {
    store_lanes(y, settle(sums, scale, e), zero);
}
