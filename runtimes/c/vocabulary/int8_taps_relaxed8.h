/* Depthwise words: four taps of a channel are the four bytes of a lane for the relaxed dot product. */

typedef struct { v128_t q0, q1, q2, q3; } filters_t, taps_t; /* four channels each */

INLINE v128_t zip_low(v128_t a, v128_t b) {
    return wasm_i8x16_shuffle(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}

INLINE v128_t zip_high(v128_t a, v128_t b) {
    return wasm_i8x16_shuffle(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}

INLINE taps_t interleave(const void *x0, const void *x1, const void *x2, const void *x3) {
    const v128_t a = wasm_v128_load(x0), b = wasm_v128_load(x1), c = wasm_v128_load(x2), d = wasm_v128_load(x3);
    const v128_t low_ab = zip_low(a, b), low_cd = zip_low(c, d), high_ab = zip_high(a, b), high_cd = zip_high(c, d);
    taps_t taps;
    taps.q0 = wasm_i16x8_shuffle(low_ab, low_cd, 0, 8, 1, 9, 2, 10, 3, 11);
    taps.q1 = wasm_i16x8_shuffle(low_ab, low_cd, 4, 12, 5, 13, 6, 14, 7, 15);
    taps.q2 = wasm_i16x8_shuffle(high_ab, high_cd, 0, 8, 1, 9, 2, 10, 3, 11);
    taps.q3 = wasm_i16x8_shuffle(high_ab, high_cd, 4, 12, 5, 13, 6, 14, 7, 15);
    return taps;
}

INLINE filters_t load_filters_16(const int8_t *w0, const int8_t *w1, const int8_t *w2, const int8_t *w3) { return interleave(w0, w1, w2, w3); }

INLINE taps_t load_taps_16(const activation *x0, const activation *x1, const activation *x2, const activation *x3) {
    return interleave(x0, x1, x2, x3);
}

INLINE sums_t add_taps(sums_t sums, filters_t w, taps_t x) {
    sums.a = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w.q0, x.q0, sums.a);
    sums.b = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w.q1, x.q1, sums.b);
    sums.c = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w.q2, x.q2, sums.c);
    sums.d = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w.q3, x.q3, sums.d);
    return sums;
}

INLINE v128_t load_row(const activation *x) { return wasm_v128_load(x); }
INLINE void store_row(activation *y, v128_t row) { wasm_v128_store(y, row); }
