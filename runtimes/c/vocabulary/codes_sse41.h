/* Words for coded weights in SSE4.1; codes_portable.h says what they mean. */
typedef __m128i codes;

INLINE codes codes_part(const int8_t *panel, int v) {
    int32_t four;
    memcpy(&four, panel + v * FLOATS, sizeof four);
    return _mm_cvtepi8_epi32(_mm_cvtsi32_si128(four));
}

INLINE floats codes_whole(codes c) { return _mm_cvtepi32_ps(c); }
INLINE floats codes_low(codes c) { return _mm_cvtepi32_ps(_mm_srai_epi32(_mm_slli_epi32(c, 28), 28)); }
INLINE floats codes_high(codes c) { return _mm_cvtepi32_ps(_mm_srai_epi32(c, 4)); }
