/* Sums of codes and of a residual, by int8_multiples.h. */

typedef struct {
    __m512i scales, start;
} addition_t;

INLINE addition_t addition_of(float v_scale, float r_scale, int32_t r_zero) {
    addition_t addition;
    addition.scales = _mm512_set1_epi32(pair_of_scales(v_scale, r_scale));
    addition.start = _mm512_set1_epi32(start_of_pairs(r_scale, r_zero));
    return addition;
}

/* The sums of `v`, less its zero point, and of codes of the residual. */
INLINE lanes_t add_sixteen(lanes_t v, __m128i codes, addition_t addition) {
    const __m512i upper = _mm512_setr_epi32((int)0x80008080u, (int)0x80018080u, (int)0x80028080u, (int)0x80038080u, (int)0x80048080u, (int)0x80058080u,
                                            (int)0x80068080u, (int)0x80078080u, (int)0x80088080u, (int)0x80098080u, (int)0x800A8080u, (int)0x800B8080u,
                                            (int)0x800C8080u, (int)0x800D8080u, (int)0x800E8080u, (int)0x800F8080u);
    const __m512i pairs = _mm512_mask_shuffle_epi8((__m512i)v, 0xCCCCCCCCCCCCCCCCu, _mm512_broadcast_i32x4(codes), upper);
    const __m512 sum = _mm512_cvtepi32_ps(_mm512_dpwssd_epi32(addition.start, pairs, addition.scales));
    return (lanes_t)_mm512_cvtps_epi32(_mm512_mul_ps(sum, _mm512_set1_ps(1.0f / 4096.0f)));
}

/* Of the residual's next 16 codes `count` are there. */
INLINE lanes_t add_codes(lanes_t v, const activation *residual, int32_t count, addition_t addition) {
    const __m128i codes = count >= 16 ? _mm_loadu_si128((const __m128i *)(const void *)residual)
                                      : _mm_maskz_loadu_epi8((__mmask16)((1u << (count > 0 ? count : 0)) - 1u), residual);
    return add_sixteen(v, codes, addition);
}
