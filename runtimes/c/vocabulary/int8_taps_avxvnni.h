/* Depthwise words: four taps of a channel are the four bytes of a lane for vpdpbusd. */

typedef struct { __m256i a, b; } filters_t, taps_t;

INLINE lanes_t load_sums(const int32_t *bias) {
    lanes_t sums;
    sums.a = _mm256_loadu_si256((const __m256i *)bias);
    sums.b = _mm256_loadu_si256((const __m256i *)(bias + 8));
    return sums;
}

/* 16 bytes from each of four rows: the four bytes of a column become a lane. */
INLINE taps_t interleave(const void *r0, const void *r1, const void *r2, const void *r3) {
    const __m128i a = _mm_loadu_si128((const __m128i *)r0), b = _mm_loadu_si128((const __m128i *)r1);
    const __m128i c = _mm_loadu_si128((const __m128i *)r2), d = _mm_loadu_si128((const __m128i *)r3);
    const __m128i low_ab = _mm_unpacklo_epi8(a, b), low_cd = _mm_unpacklo_epi8(c, d);
    const __m128i high_ab = _mm_unpackhi_epi8(a, b), high_cd = _mm_unpackhi_epi8(c, d);
    taps_t taps;
    taps.a = _mm256_set_m128i(_mm_unpackhi_epi16(low_ab, low_cd), _mm_unpacklo_epi16(low_ab, low_cd));
    taps.b = _mm256_set_m128i(_mm_unpackhi_epi16(high_ab, high_cd), _mm_unpacklo_epi16(high_ab, high_cd));
    return taps;
}

INLINE filters_t load_filters(const int8_t *w0, const int8_t *w1, const int8_t *w2, const int8_t *w3) {
    return interleave(w0, w1, w2, w3);
}

INLINE taps_t load_taps(const activation *x0, const activation *x1, const activation *x2, const activation *x3) {
    return interleave(x0, x1, x2, x3);
}

INLINE lanes_t add_taps(lanes_t sums, filters_t w, taps_t x) {
    sums.a = _mm256_dpbusd_avx_epi32(sums.a, x.a, w.a);
    sums.b = _mm256_dpbusd_avx_epi32(sums.b, x.b, w.b);
    return sums;
}
