/* Words for products of 16-bit codes in AVX2, but for the sums; int16_portable.h says what they mean. */
typedef __m256i pairs;
typedef __m256i twos;
typedef __m256i sums16;

INLINE pairs pairs_load(const int8_t *w) { return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)(const void *)w)); }

INLINE twos twos_load(const int16_t *x) {
    int32_t two;
    memcpy(&two, x, sizeof two);
    return _mm256_set1_epi32(two);
}

INLINE twos twos_last(const int16_t *x) { return _mm256_set1_epi32((uint16_t)*x); }
INLINE sums16 sums16_zero(void) { return _mm256_setzero_si256(); }

INLINE void totals_add(double *total, const double *before, sums16 sum) {
    const __m256d low = _mm256_cvtepi32_pd(_mm256_castsi256_si128(sum)), high = _mm256_cvtepi32_pd(_mm256_extracti128_si256(sum, 1));
    _mm256_storeu_pd(total, _mm256_add_pd(_mm256_loadu_pd(before), low));
    _mm256_storeu_pd(total + 4, _mm256_add_pd(_mm256_loadu_pd(before + 4), high));
}

INLINE floats totals_scaled(const double *total, const float *scale) {
    const __m128 low = _mm256_cvtpd_ps(_mm256_loadu_pd(total)), high = _mm256_cvtpd_ps(_mm256_loadu_pd(total + 4));
    return _mm256_mul_ps(_mm256_insertf128_ps(_mm256_castps128_ps256(low), high, 1), _mm256_loadu_ps(scale));
}

INLINE void codes16_store(int16_t *y, floats v, int32_t zero) {
    const __m256i codes = _mm256_add_epi32(_mm256_cvtps_epi32(v), _mm256_set1_epi32(zero));
    _mm_storeu_si128((__m128i *)(void *)y, _mm_packs_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1)));
}

INLINE sums16 sums16_each(sums16 sum, const int16_t *x, int32_t zero, const int8_t *w) {
    const __m256i codes = _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)x));
    const __m256i weights = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)w));
    return _mm256_add_epi32(sum, _mm256_mullo_epi32(_mm256_sub_epi32(codes, _mm256_set1_epi32(zero)), weights));
}
