/* A register pair sums 4 channels. The relaxed dot product adds four products to each lane, exactly in every engine where the second
   operand has seven bits: two products of 127 and a weight fit 16 bits. So the low seven bits of pixels and their high ones are summed
   apart, and the latter count for 128. */

typedef struct { v128_t low, high; } accumulator_t, pixels_t;
typedef v128_t weights_t;

INLINE accumulator_t start(const int32_t *bias) {
    accumulator_t sum;
    sum.low = wasm_v128_load(bias);
    sum.high = wasm_i32x4_splat(0);
    return sum;
}

INLINE pixels_t load_pixels(const activation *x) {
    const v128_t four = wasm_v128_load32_splat(x);
    pixels_t pixels;
    pixels.low = wasm_v128_and(four, wasm_i8x16_splat(127));
    pixels.high = wasm_u8x16_shr(four, 7);
    return pixels;
}

INLINE weights_t load_weights(const int8_t *w) { return wasm_v128_load(w); }

INLINE accumulator_t dot(accumulator_t sum, weights_t w, pixels_t x) {
    sum.low = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w, x.low, sum.low);
    sum.high = wasm_i32x4_relaxed_dot_i8x16_i7x16_add(w, x.high, sum.high);
    return sum;
}

INLINE v128_t whole(accumulator_t sum) { return wasm_i32x4_add(sum.low, wasm_i32x4_shl(sum.high, 7)); }

INLINE lanes_t collect(accumulator_t a, accumulator_t b, accumulator_t c, accumulator_t d) {
    lanes_t v;
    v.a = whole(a);
    v.b = whole(b);
    v.c = whole(c);
    v.d = whole(d);
    return v;
}
