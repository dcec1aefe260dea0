/* Sixteen 8-bit lanes, of the activations' own signedness, in an SSE register; bytes_portable.h says what the words mean. */
typedef __m128i bytes_t;

INLINE bytes_t bytes_load(const activation *p) { return _mm_loadu_si128((const __m128i *)p); }
INLINE void bytes_store(activation *p, bytes_t v) { _mm_storeu_si128((__m128i *)p, v); }
INLINE bytes_t bytes_splat(activation q) { return _mm_set1_epi8((char)q); }
INLINE bytes_t bytes_max(bytes_t v, bytes_t w) { return (activation)-1 > 0 ? _mm_max_epu8(v, w) : _mm_max_epi8(v, w); }
INLINE bytes_t bytes_min(bytes_t v, bytes_t w) { return (activation)-1 > 0 ? _mm_min_epu8(v, w) : _mm_min_epi8(v, w); }

INLINE bytes_t bytes_load_part(const activation *p, int32_t n) {
    return _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)p), _mm_loadl_epi64((const __m128i *)(p + n - 8)));
}
INLINE void bytes_store_part(activation *p, bytes_t v, int32_t n) {
    _mm_storel_epi64((__m128i *)p, v);
    _mm_storel_epi64((__m128i *)(p + n - 8), _mm_unpackhi_epi64(v, v));
}
