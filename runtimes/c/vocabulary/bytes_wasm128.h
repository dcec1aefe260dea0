/* Sixteen uint8 lanes; bytes_portable.h says what the words mean. */
typedef v128_t bytes_t;

INLINE bytes_t bytes_load(const activation *p) { return wasm_v128_load(p); }
INLINE void bytes_store(activation *p, bytes_t v) { wasm_v128_store(p, v); }
INLINE bytes_t bytes_splat(activation q) { return wasm_u8x16_splat(q); }
INLINE bytes_t bytes_max(bytes_t v, bytes_t w) { return wasm_u8x16_max(v, w); }
INLINE bytes_t bytes_min(bytes_t v, bytes_t w) { return wasm_u8x16_min(v, w); }

INLINE bytes_t bytes_load_part(const activation *p, int32_t n) { return wasm_v128_load64_lane(p + n - 8, wasm_v128_load64_zero(p), 1); }
INLINE void bytes_store_part(activation *p, bytes_t v, int32_t n) {
    wasm_v128_store64_lane(p, v, 0);
    wasm_v128_store64_lane(p + n - 8, v, 1);
}
