/* Depthwise words: two taps of a channel are a pair of 16-bit numbers for vpmaddwd. */

typedef sums_t filters_t;
typedef struct { __m256i low, high; } taps_t; /* pairs of bytes */

INLINE __m256i widen_low(__m256i bytes) { return _mm256_srai_epi16(_mm256_unpacklo_epi8(bytes, bytes), 8); }
INLINE __m256i widen_high(__m256i bytes) { return _mm256_srai_epi16(_mm256_unpackhi_epi8(bytes, bytes), 8); }

INLINE filters_t widen_filters(__m256i w0, __m256i w1) {
    const __m256i low = _mm256_unpacklo_epi8(w0, w1), high = _mm256_unpackhi_epi8(w0, w1);
    filters_t filters;
    filters.q0 = widen_low(low);
    filters.q1 = widen_high(low);
    filters.q2 = widen_low(high);
    filters.q3 = widen_high(high);
    return filters;
}

INLINE filters_t load_filters_32(const int8_t *w0, const int8_t *w1) { return widen_filters(load_row(w0), load_row(w1)); }
INLINE filters_t load_filters_16(const int8_t *w0, const int8_t *w1) { return widen_filters(join_rows(w0, w0), join_rows(w1, w1)); }

INLINE taps_t interleave(__m256i first, __m256i second) {
    taps_t taps;
    taps.low = _mm256_unpacklo_epi8(first, second);
    taps.high = _mm256_unpackhi_epi8(first, second);
    return taps;
}

INLINE taps_t load_taps_32(const activation *x0, const activation *x1) { return interleave(load_row(x0), load_row(x1)); }

INLINE taps_t load_taps_16(const activation *x0, const activation *y0, const activation *x1, const activation *y1) {
    return interleave(join_rows(x0, y0), join_rows(x1, y1));
}

/* gcc would compute the products of all taps first, and keep them in memory until they are added. */
#if !defined(ADDED) && defined(__GNUC__) && !defined(__clang__)
#define ADDED(sum) __asm__("" : "+x"(sum))
#elif !defined(ADDED)
#define ADDED(sum)
#endif

INLINE sums_t add_taps(sums_t sums, filters_t w, taps_t x) {
    const __m256i zero = _mm256_setzero_si256();
    sums.q0 = _mm256_add_epi32(sums.q0, _mm256_madd_epi16(w.q0, _mm256_unpacklo_epi8(x.low, zero)));
    sums.q1 = _mm256_add_epi32(sums.q1, _mm256_madd_epi16(w.q1, _mm256_unpackhi_epi8(x.low, zero)));
    sums.q2 = _mm256_add_epi32(sums.q2, _mm256_madd_epi16(w.q2, _mm256_unpacklo_epi8(x.high, zero)));
    sums.q3 = _mm256_add_epi32(sums.q3, _mm256_madd_epi16(w.q3, _mm256_unpackhi_epi8(x.high, zero)));
    ADDED(sums.q0);
    ADDED(sums.q1);
    ADDED(sums.q2);
    ADDED(sums.q3);
    return sums;
}
