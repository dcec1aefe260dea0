/* Words for products of 16-bit codes in SIMD128; int16_portable.h says what they mean. */
typedef v128_t pairs;
typedef v128_t twos;
typedef v128_t sums16;

INLINE pairs pairs_load(const int8_t *w) { return wasm_i16x8_extend_low_i8x16(wasm_v128_load64_zero(w)); }
INLINE twos twos_load(const int16_t *x) { return wasm_v128_load32_splat(x); }
INLINE twos twos_last(const int16_t *x) { return wasm_i32x4_splat((uint16_t)*x); }
INLINE sums16 sums16_zero(void) { return wasm_i32x4_splat(0); }
INLINE sums16 sums16_add(sums16 sum, pairs w, twos x) { return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(w, x)); }

INLINE void totals_add(double *total, const double *before, sums16 sum) {
    const v128_t high = wasm_i64x2_shuffle(sum, sum, 1, 1);
    wasm_v128_store(total, wasm_f64x2_add(wasm_v128_load(before), wasm_f64x2_convert_low_i32x4(sum)));
    wasm_v128_store(total + 2, wasm_f64x2_add(wasm_v128_load(before + 2), wasm_f64x2_convert_low_i32x4(high)));
}

INLINE floats totals_scaled(const double *total, const float *scale) {
    const v128_t low = wasm_f32x4_demote_f64x2_zero(wasm_v128_load(total)), high = wasm_f32x4_demote_f64x2_zero(wasm_v128_load(total + 2));
    return wasm_f32x4_mul(wasm_i64x2_shuffle(low, high, 0, 2), wasm_v128_load(scale));
}

INLINE void codes16_store(int16_t *y, floats v, int32_t zero) {
    const v128_t codes = wasm_i32x4_add(wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest(v)), wasm_i32x4_splat(zero));
    wasm_v128_store64_lane(y, wasm_i16x8_narrow_i32x4(codes, codes), 0);
}

INLINE sums16 sums16_each(sums16 sum, const int16_t *x, int32_t zero, const int8_t *w) {
    const v128_t weights = wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(w)));
    return wasm_i32x4_add(sum, wasm_i32x4_mul(wasm_i32x4_sub(wasm_i32x4_load16x4(x), wasm_i32x4_splat(zero)), weights));
}
