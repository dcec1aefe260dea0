/* Words for coded weights in AVX2; codes_portable.h says what they mean. */
typedef __m256i codes;

INLINE codes codes_part(const int8_t *panel, int v) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(panel + v * FLOATS)));
}

INLINE floats codes_whole(codes c) { return _mm256_cvtepi32_ps(c); }
INLINE floats codes_low(codes c) { return _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_slli_epi32(c, 28), 28)); }
INLINE floats codes_high(codes c) { return _mm256_cvtepi32_ps(_mm256_srai_epi32(c, 4)); }
