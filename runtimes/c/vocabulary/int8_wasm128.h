/* One register sums 2 channels, two partial sums each: weights and pixels are widened to 16 bits, where the dot product is exact. */

typedef v128_t accumulator_t, pixels_t, weights_t;

INLINE accumulator_t start(const int32_t *bias) { return wasm_u64x2_load32x2(bias); }

INLINE pixels_t load_pixels(const activation *x) { return wasm_u16x8_extend_low_u8x16(wasm_v128_load32_splat(x)); }

INLINE weights_t load_weights(const int8_t *w) { return wasm_i16x8_load8x8(w); }

INLINE accumulator_t dot(accumulator_t sum, weights_t w, pixels_t x) { return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(w, x)); }

INLINE v128_t add_pairs(v128_t a, v128_t b) {
    return wasm_i32x4_add(wasm_i32x4_shuffle(a, b, 0, 2, 4, 6), wasm_i32x4_shuffle(a, b, 1, 3, 5, 7));
}

INLINE lanes_t collect(accumulator_t a, accumulator_t b, accumulator_t c, accumulator_t d, accumulator_t e, accumulator_t f,
                       accumulator_t g, accumulator_t h) {
    lanes_t v;
    v.a = add_pairs(a, b);
    v.b = add_pairs(c, d);
    v.c = add_pairs(e, f);
    v.d = add_pairs(g, h);
    return v;
}
