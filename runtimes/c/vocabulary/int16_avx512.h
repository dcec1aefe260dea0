/* Words for products of 16-bit codes in AVX-512 with VNNI; int16_portable.h says what they mean. */
typedef __m512i pairs;
typedef __m512i twos;
typedef __m512i sums16;

INLINE pairs pairs_load(const int8_t *w) { return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)w)); }

INLINE twos twos_load(const int16_t *x) {
    int32_t two;
    memcpy(&two, x, sizeof two);
    return _mm512_set1_epi32(two);
}

INLINE twos twos_last(const int16_t *x) { return _mm512_set1_epi32((uint16_t)*x); }
INLINE sums16 sums16_zero(void) { return _mm512_setzero_si512(); }
INLINE sums16 sums16_add(sums16 sum, pairs w, twos x) { return _mm512_dpwssd_epi32(sum, w, x); }

INLINE void totals_add(double *total, const double *before, sums16 sum) {
    const __m512d low = _mm512_cvtepi32_pd(_mm512_castsi512_si256(sum)), high = _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(sum, 1));
    _mm512_storeu_pd(total, _mm512_add_pd(_mm512_loadu_pd(before), low));
    _mm512_storeu_pd(total + 8, _mm512_add_pd(_mm512_loadu_pd(before + 8), high));
}

INLINE floats totals_scaled(const double *total, const float *scale) {
    const __m256 low = _mm512_cvtpd_ps(_mm512_loadu_pd(total)), high = _mm512_cvtpd_ps(_mm512_loadu_pd(total + 8));
    return _mm512_mul_ps(_mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1), _mm512_loadu_ps(scale));
}

INLINE void codes16_store(int16_t *y, floats v, int32_t zero) {
    const __m512i codes = _mm512_add_epi32(_mm512_cvtps_epi32(v), _mm512_set1_epi32(zero));
    _mm256_storeu_si256((__m256i *)(void *)y, _mm512_cvtepi32_epi16(codes));
}

INLINE sums16 sums16_each(sums16 sum, const int16_t *x, int32_t zero, const int8_t *w) {
    const __m512i codes = _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)x));
    const __m512i weights = _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)w));
    return _mm512_add_epi32(sum, _mm512_mullo_epi32(_mm512_sub_epi32(codes, _mm512_set1_epi32(zero)), weights));
}
