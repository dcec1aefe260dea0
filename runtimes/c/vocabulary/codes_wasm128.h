/* Words for coded weights in SIMD128; codes_portable.h says what they mean. */
typedef v128_t codes;

INLINE codes codes_part(const int8_t *panel, int v) {
    return wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(panel + v * FLOATS)));
}

INLINE floats codes_whole(codes c) { return wasm_f32x4_convert_i32x4(c); }
INLINE floats codes_low(codes c) { return wasm_f32x4_convert_i32x4(wasm_i32x4_shr(wasm_i32x4_shl(c, 28), 28)); }
INLINE floats codes_high(codes c) { return wasm_f32x4_convert_i32x4(wasm_i32x4_shr(c, 4)); }
