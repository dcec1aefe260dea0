/* Sums and products of int32 lanes. */
INLINE lanes_t lanes_splat(int32_t x) {
    lanes_t v;
    v.a = v.b = v.c = v.d = wasm_i32x4_splat(x);
    return v;
}

INLINE lanes_t lanes_add(lanes_t v, lanes_t w) {
    v.a = wasm_i32x4_add(v.a, w.a);
    v.b = wasm_i32x4_add(v.b, w.b);
    v.c = wasm_i32x4_add(v.c, w.c);
    v.d = wasm_i32x4_add(v.d, w.d);
    return v;
}

INLINE lanes_t lanes_multiply(lanes_t v, lanes_t w) {
    v.a = wasm_i32x4_mul(v.a, w.a);
    v.b = wasm_i32x4_mul(v.b, w.b);
    v.c = wasm_i32x4_mul(v.c, w.c);
    v.d = wasm_i32x4_mul(v.d, w.d);
    return v;
}
