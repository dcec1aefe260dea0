/* The relaxed dot product as engines may have it, for compilers and engines that lack it: UNSIGNED (VNNI) and SIGNED (sdot) take all eight
   bits of the second operand; SATURATING is x86 without VNNI, WRAPPING is ARM without sdot, and ANY gives nonsense wherever it may. */
#if defined(__wasm_relaxed_simd__)
#include <wasm_simd128.h>

enum { UNSIGNED, SIGNED, SATURATING, WRAPPING, ANY };

static inline v128_t relaxed_pairs(v128_t products) {
    const v128_t pairs = wasm_i32x4_extadd_pairwise_i16x8(products);
    if (RELAXED == SATURATING) return wasm_i32x4_min(wasm_i32x4_max(pairs, wasm_i32x4_splat(-32768)), wasm_i32x4_splat(32767));
    if (RELAXED == WRAPPING || RELAXED == ANY) return wasm_i32x4_shr(wasm_i32x4_shl(pairs, 16), 16);
    return pairs;
}

static inline v128_t relaxed_bytes(v128_t b, int high) {
    const v128_t low_bytes = high ? wasm_i8x16_shuffle(b, b, 8, 9, 10, 11, 12, 13, 14, 15, 8, 9, 10, 11, 12, 13, 14, 15) : b;
    return RELAXED == UNSIGNED || RELAXED == SATURATING ? wasm_u16x8_extend_low_u8x16(low_bytes) : wasm_i16x8_extend_low_i8x16(low_bytes);
}

static inline v128_t relaxed_dot(v128_t a, v128_t b, v128_t sum) {
    const v128_t low = relaxed_pairs(wasm_i16x8_mul(wasm_i16x8_extend_low_i8x16(a), relaxed_bytes(b, 0)));
    const v128_t high = relaxed_pairs(wasm_i16x8_mul(wasm_i16x8_extend_high_i8x16(a), relaxed_bytes(b, 1)));
    const v128_t fours = wasm_i32x4_add(wasm_i32x4_shuffle(low, high, 0, 2, 4, 6), wasm_i32x4_shuffle(low, high, 1, 3, 5, 7));
    const v128_t eight = wasm_i32x4_ne(wasm_v128_and(b, wasm_i8x16_splat(-128)), wasm_i32x4_splat(0));
    const v128_t nonsense = RELAXED == ANY ? wasm_v128_and(eight, wasm_i32x4_splat(0x5a5a5a5a)) : wasm_i32x4_splat(0);
    return wasm_v128_xor(wasm_i32x4_add(sum, fours), nonsense);
}

#define wasm_i32x4_relaxed_dot_i8x16_i7x16_add relaxed_dot
#endif
