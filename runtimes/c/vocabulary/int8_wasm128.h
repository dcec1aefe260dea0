/* One register sums 4 channels. Of the 4 input channels of a step the even and the odd ones are apart, each widened to 16 bits by
   shifts, where the dot product of pairs is exact. */

typedef v128_t accumulator_t;
typedef struct { v128_t even, odd; } pixels_t, weights_t;

INLINE accumulator_t start(const int32_t *bias) { return wasm_v128_load(bias); }

INLINE pixels_t load_pixels(const activation *x) {
    const v128_t four = wasm_v128_load32_splat(x);
    pixels_t pixels;
    pixels.even = wasm_v128_and(four, wasm_i16x8_splat(255));
    pixels.odd = wasm_u16x8_shr(four, 8);
    return pixels;
}

INLINE weights_t load_weights(const int8_t *w) {
    const v128_t four = wasm_v128_load(w);
    weights_t weights;
    weights.even = wasm_i16x8_shr(wasm_i16x8_shl(four, 8), 8);
    weights.odd = wasm_i16x8_shr(four, 8);
    return weights;
}

INLINE accumulator_t dot(accumulator_t sum, weights_t w, pixels_t x) {
    sum = wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(w.even, x.even));
    return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(w.odd, x.odd));
}

INLINE lanes_t collect(accumulator_t a, accumulator_t b, accumulator_t c, accumulator_t d) {
    lanes_t v;
    v.a = a;
    v.b = b;
    v.c = c;
    v.d = d;
    return v;
}
