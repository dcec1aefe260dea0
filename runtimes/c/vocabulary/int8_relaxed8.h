/* One register sums 4 channels. The relaxed dot product adds four products to each lane, exactly where an engine takes all eight bits of
   its second operand, without a sign: for weights of the first and pixels of the second. */

typedef v128_t accumulator_t, pixels_t, weights_t;

INLINE accumulator_t start(const int32_t *bias) { return wasm_v128_load(bias); }

INLINE pixels_t load_pixels(const activation *x) { return wasm_v128_load32_splat(x); }

INLINE weights_t load_weights(const int8_t *w) { return wasm_v128_load(w); }

INLINE accumulator_t dot(accumulator_t sum, weights_t w, pixels_t x) { return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w, x, sum); }

INLINE lanes_t collect(accumulator_t a, accumulator_t b, accumulator_t c, accumulator_t d) {
    lanes_t v;
    v.a = a;
    v.b = b;
    v.c = c;
    v.d = d;
    return v;
}
