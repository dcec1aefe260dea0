/* Rows of codes that are normalized. */
INLINE lanes_t square_lanes(lanes_t sum, lanes_t v) {
    sum.a = wasm_i32x4_add(sum.a, wasm_i32x4_mul(v.a, v.a));
    sum.b = wasm_i32x4_add(sum.b, wasm_i32x4_mul(v.b, v.b));
    sum.c = wasm_i32x4_add(sum.c, wasm_i32x4_mul(v.c, v.c));
    sum.d = wasm_i32x4_add(sum.d, wasm_i32x4_mul(v.d, v.d));
    return sum;
}

INLINE v128_t normalize_4(v128_t v, float count, float sum, float factor, const float *scale, const float *offset, float low,
                           float high) {
    const v128_t whole = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(v), wasm_f32x4_splat(count));
    const v128_t apart = wasm_f32x4_sub(whole, wasm_f32x4_splat(sum));
    const v128_t scaled = wasm_f32x4_mul(wasm_f32x4_mul(apart, wasm_f32x4_splat(factor)), wasm_v128_load(scale));
    return round_clamped(wasm_f32x4_add(scaled, wasm_v128_load(offset)), low, high);
}

INLINE lanes_t normalize_lanes(lanes_t v, float count, float sum, float factor, const float *scale, const float *offset, float low,
                               float high) {
    v.a = normalize_4(v.a, count, sum, factor, scale, offset, low, high);
    v.b = normalize_4(v.b, count, sum, factor, scale + 4, offset + 4, low, high);
    v.c = normalize_4(v.c, count, sum, factor, scale + 8, offset + 8, low, high);
    v.d = normalize_4(v.d, count, sum, factor, scale + 12, offset + 12, low, high);
    return v;
}
