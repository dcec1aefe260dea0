/* Sixteen int32 lanes in four registers of WebAssembly's SIMD128; activations are uint8. */

typedef struct { v128_t a, b, c, d; } lanes_t;

/* Below 2^22 an addition of 1.5 * 2^23 rounds to even and leaves the integer in the low bits. A NaN in v cannot be. */
INLINE v128_t round_clamped(v128_t v, float low, float high) {
    const v128_t clamped = wasm_f32x4_pmin(wasm_f32x4_splat(high), wasm_f32x4_pmax(wasm_f32x4_splat(low), v));
    return wasm_i32x4_sub(wasm_f32x4_add(clamped, wasm_f32x4_splat(12582912.0f)), wasm_i32x4_splat(0x4b400000));
}

INLINE v128_t requantize_4(v128_t sum, const float *scale, ending_t e) {
    return round_clamped(shaped(wasm_f32x4_mul(wasm_f32x4_convert_i32x4(sum), wasm_v128_load(scale)), scale, e), e.low, e.high);
}

INLINE lanes_t settle(lanes_t sum, const float *scale, ending_t e) {
    sum.a = requantize_4(sum.a, scale, e);
    sum.b = requantize_4(sum.b, scale + 4, e);
    sum.c = requantize_4(sum.c, scale + 8, e);
    sum.d = requantize_4(sum.d, scale + 12, e);
    return sum;
}

INLINE v128_t add_residual_4(v128_t v, float v_scale, v128_t r, int32_t zero, float r_scale, float low, float high) {
    const v128_t a = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(v), wasm_f32x4_splat(v_scale));
    const v128_t centred = wasm_i32x4_sub(r, wasm_i32x4_splat(zero));
    const v128_t b = wasm_f32x4_mul(wasm_f32x4_convert_i32x4(centred), wasm_f32x4_splat(r_scale));
    return round_clamped(wasm_f32x4_add(a, b), low, high);
}

INLINE lanes_t add_residual(lanes_t v, float v_scale, lanes_t r, int32_t zero, float r_scale, float low, float high) {
    v.a = add_residual_4(v.a, v_scale, r.a, zero, r_scale, low, high);
    v.b = add_residual_4(v.b, v_scale, r.b, zero, r_scale, low, high);
    v.c = add_residual_4(v.c, v_scale, r.c, zero, r_scale, low, high);
    v.d = add_residual_4(v.d, v_scale, r.d, zero, r_scale, low, high);
    return v;
}

INLINE lanes_t load_lanes(const activation *x) {
    const v128_t low = wasm_u16x8_load8x8(x), high = wasm_u16x8_load8x8(x + 8);
    lanes_t v;
    v.a = wasm_u32x4_extend_low_u16x8(low);
    v.b = wasm_u32x4_extend_high_u16x8(low);
    v.c = wasm_u32x4_extend_low_u16x8(high);
    v.d = wasm_u32x4_extend_high_u16x8(high);
    return v;
}

INLINE void store_lanes(activation *y, lanes_t v, int32_t zero) {
    const v128_t offset = wasm_i32x4_splat(zero);
    const v128_t low = wasm_i16x8_narrow_i32x4(wasm_i32x4_add(v.a, offset), wasm_i32x4_add(v.b, offset));
    const v128_t high = wasm_i16x8_narrow_i32x4(wasm_i32x4_add(v.c, offset), wasm_i32x4_add(v.d, offset));
    wasm_v128_store(y, wasm_u8x16_narrow_i16x8(low, high));
}

INLINE void scale_lanes(float *y, lanes_t sum, const float *scale) {
    wasm_v128_store(y, wasm_f32x4_mul(wasm_f32x4_convert_i32x4(sum.a), wasm_v128_load(scale)));
    wasm_v128_store(y + 4, wasm_f32x4_mul(wasm_f32x4_convert_i32x4(sum.b), wasm_v128_load(scale + 4)));
    wasm_v128_store(y + 8, wasm_f32x4_mul(wasm_f32x4_convert_i32x4(sum.c), wasm_v128_load(scale + 8)));
    wasm_v128_store(y + 12, wasm_f32x4_mul(wasm_f32x4_convert_i32x4(sum.d), wasm_v128_load(scale + 12)));
}
