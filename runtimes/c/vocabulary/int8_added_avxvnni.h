/* Sums of codes and of a residual, by int8_multiples.h. */

typedef struct {
    __m256i scales, start;
} addition_t;

INLINE addition_t addition_of(float v_scale, float r_scale, int32_t r_zero) {
    addition_t addition;
    addition.scales = _mm256_set1_epi32(pair_of_scales(v_scale, r_scale));
    addition.start = _mm256_set1_epi32(start_of_pairs(r_scale, r_zero));
    return addition;
}

/* `upper`: where the code for a lane is among `codes`, which both halves hold. */
INLINE __m256i add_eight(__m256i v, __m256i codes, __m256i upper, addition_t addition) {
    const __m256i pairs = _mm256_blend_epi16(v, _mm256_shuffle_epi8(codes, upper), 0xAA);
    const __m256 sum = _mm256_cvtepi32_ps(_mm256_dpwssd_avx_epi32(addition.start, pairs, addition.scales));
    return _mm256_cvtps_epi32(_mm256_mul_ps(sum, _mm256_set1_ps(1.0f / 4096.0f)));
}

/* The sums of `v`, less its zero point, and of the residual's next 16 codes, of which `count` are there. */
INLINE lanes_t add_codes(lanes_t v, const activation *residual, int32_t count, addition_t addition) {
    const __m256i first = _mm256_setr_epi32((int)0x80008080u, (int)0x80018080u, (int)0x80028080u, (int)0x80038080u, (int)0x80048080u,
                                            (int)0x80058080u, (int)0x80068080u, (int)0x80078080u);
    activation part[16];
    __m256i codes;
    if (count < 16) {
        copy_some(part, residual, count);
        residual = part;
    }
    codes = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)residual));
    v.a = add_eight(v.a, codes, first, addition);
    v.b = add_eight(v.b, codes, _mm256_add_epi32(first, _mm256_set1_epi32(0x00080000)), addition);
    return v;
}
