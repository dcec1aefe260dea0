/* Depthwise words: two taps of a channel are a pair of 16-bit numbers for vpmaddwd. */

typedef struct { __m256i a, b; } filters_t, taps_t;

INLINE lanes_t load_sums(const int32_t *bias) {
    lanes_t sums;
    sums.a = _mm256_loadu_si256((const __m256i *)bias);
    sums.b = _mm256_loadu_si256((const __m256i *)(bias + 8));
    return sums;
}

INLINE filters_t load_filters(const int8_t *w0, const int8_t *w1) {
    const __m128i first = _mm_loadu_si128((const __m128i *)w0), second = _mm_loadu_si128((const __m128i *)w1);
    filters_t filters;
    filters.a = _mm256_cvtepi8_epi16(_mm_unpacklo_epi8(first, second));
    filters.b = _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(first, second));
    return filters;
}

INLINE taps_t load_taps(const activation *x0, const activation *x1) {
    const __m128i first = _mm_loadu_si128((const __m128i *)x0), second = _mm_loadu_si128((const __m128i *)x1);
    taps_t taps;
    taps.a = _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(first, second));
    taps.b = _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(first, second));
    return taps;
}

INLINE lanes_t add_taps(lanes_t sums, filters_t w, taps_t x) {
    sums.a = _mm256_add_epi32(sums.a, _mm256_madd_epi16(w.a, x.a));
    sums.b = _mm256_add_epi32(sums.b, _mm256_madd_epi16(w.b, x.b));
    return sums;
}
