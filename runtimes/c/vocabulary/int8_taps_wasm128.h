/* Depthwise words: two taps of a channel are a pair of 16-bit numbers for the dot product. */

typedef struct { v128_t a, b, c, d; } filters_t;
typedef struct { v128_t low, high; } taps_t; /* pairs of bytes */

INLINE taps_t pair(const void *first, const void *second) {
    const v128_t a = wasm_v128_load(first), b = wasm_v128_load(second);
    taps_t pairs;
    pairs.low = wasm_i8x16_shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    pairs.high = wasm_i8x16_shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    return pairs;
}

INLINE filters_t load_filters_16(const int8_t *w0, const int8_t *w1) {
    const taps_t pairs = pair(w0, w1);
    filters_t filters;
    filters.a = wasm_i16x8_extend_low_i8x16(pairs.low);
    filters.b = wasm_i16x8_extend_high_i8x16(pairs.low);
    filters.c = wasm_i16x8_extend_low_i8x16(pairs.high);
    filters.d = wasm_i16x8_extend_high_i8x16(pairs.high);
    return filters;
}

INLINE taps_t load_taps_16(const activation *x0, const activation *x1) { return pair(x0, x1); }

INLINE sums_t add_taps(sums_t sums, filters_t w, taps_t x) {
    sums.a = wasm_i32x4_add(sums.a, wasm_i32x4_dot_i16x8(w.a, wasm_u16x8_extend_low_u8x16(x.low)));
    sums.b = wasm_i32x4_add(sums.b, wasm_i32x4_dot_i16x8(w.b, wasm_u16x8_extend_high_u8x16(x.low)));
    sums.c = wasm_i32x4_add(sums.c, wasm_i32x4_dot_i16x8(w.c, wasm_u16x8_extend_low_u8x16(x.high)));
    sums.d = wasm_i32x4_add(sums.d, wasm_i32x4_dot_i16x8(w.d, wasm_u16x8_extend_high_u8x16(x.high)));
    return sums;
}
