/* Words for binary32 in SIMD128; float_portable.h says what they mean. pmax(a, b) is a < b ? b : a, pmin(a, b) is b < a ? b : a. */
#define FLOATS 4
typedef v128_t floats;
typedef v128_t inputs;

INLINE floats floats_load(const float *p) { return wasm_v128_load(p); }
INLINE floats floats_splat(float x) { return wasm_f32x4_splat(x); }
INLINE void floats_store(float *p, floats v) { wasm_v128_store(p, v); }
INLINE floats floats_add(floats a, floats b) { return wasm_f32x4_add(a, b); }
INLINE floats floats_subtract(floats a, floats b) { return wasm_f32x4_sub(a, b); }
INLINE floats floats_multiply(floats a, floats b) { return wasm_f32x4_mul(a, b); }
INLINE floats floats_divide(floats a, floats b) { return wasm_f32x4_div(a, b); }
INLINE floats floats_max(floats a, floats b) { return wasm_f32x4_pmax(b, a); }
INLINE floats floats_min(floats a, floats b) { return wasm_f32x4_pmin(b, a); }
INLINE floats floats_at_least(floats v, floats low) { return floats_max(low, v); }
INLINE floats floats_clamp(floats v, floats low, floats high) { return floats_min(high, floats_max(low, v)); }
INLINE floats floats_where_less(floats a, floats b, floats v, floats w) { return wasm_v128_bitselect(v, w, wasm_f32x4_lt(a, b)); }
INLINE floats floats_accumulate(floats s, floats a, floats b) { return wasm_f32x4_add(s, wasm_f32x4_mul(a, b)); }
INLINE float floats_largest(floats v) {
    v = wasm_f32x4_pmax(v, wasm_i32x4_shuffle(v, v, 2, 3, 0, 1));
    return wasm_f32x4_extract_lane(wasm_f32x4_pmax(v, wasm_i32x4_shuffle(v, v, 1, 0, 3, 2)), 0);
}
INLINE floats floats_scale(floats y, floats n) {
    const v128_t whole = wasm_i32x4_add(wasm_i32x4_trunc_sat_f32x4(n), wasm_i32x4_splat(256)), half = wasm_i32x4_shr(whole, 1);
    const v128_t first = wasm_i32x4_sub(half, wasm_i32x4_splat(1)), second = wasm_i32x4_sub(whole, wasm_i32x4_add(half, wasm_i32x4_splat(1)));
    y = wasm_f32x4_mul(y, wasm_i32x4_shl(first, 23));
    return wasm_f32x4_mul(y, wasm_i32x4_shl(second, 23));
}
INLINE inputs inputs_load(const float *p) { return wasm_v128_load32_splat(p); }
#define floats_accumulate_input(s, w, x, k) floats_accumulate(s, w, x)

INLINE floats floats_load_some(const float *p, int32_t n) {
    if (n >= FLOATS) return floats_load(p);
    return wasm_f32x4_make(p[0], n > 1 ? p[1] : 0.0f, n > 2 ? p[2] : 0.0f, 0.0f);
}

INLINE void floats_store_some(float *p, floats v, int32_t n) {
    if (n >= FLOATS) {
        floats_store(p, v);
    } else {
        float lanes[FLOATS];
        floats_store(lanes, v);
        for (int32_t i = 0; i < n; i++) p[i] = lanes[i];
    }
}
