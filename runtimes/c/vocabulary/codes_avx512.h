/* Words for coded weights in AVX-512; codes_portable.h says what they mean. */
typedef __m512i codes;

INLINE codes codes_part(const int8_t *panel, int v) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(panel + v * FLOATS)));
}

INLINE floats codes_whole(codes c) { return _mm512_cvtepi32_ps(c); }
/* A look-up takes the four lowest bits of its index. */
INLINE floats codes_half(codes c) {
    return _mm512_permutexvar_ps(c, _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1));
}
INLINE floats codes_low(codes c) { return codes_half(c); }
INLINE floats codes_high(codes c) { return codes_half(_mm512_srli_epi32(c, 4)); }
