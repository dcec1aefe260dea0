/* Words for products of 16-bit codes in SSE4.1; int16_portable.h says what they mean. */
typedef __m128i pairs;
typedef __m128i twos;
typedef __m128i sums16;

INLINE pairs pairs_load(const int8_t *w) { return _mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)(const void *)w)); }

INLINE twos twos_load(const int16_t *x) {
    int32_t two;
    memcpy(&two, x, sizeof two);
    return _mm_set1_epi32(two);
}

INLINE twos twos_last(const int16_t *x) { return _mm_set1_epi32((uint16_t)*x); }
INLINE sums16 sums16_zero(void) { return _mm_setzero_si128(); }
INLINE sums16 sums16_add(sums16 sum, pairs w, twos x) { return _mm_add_epi32(sum, _mm_madd_epi16(w, x)); }

INLINE void totals_add(double *total, const double *before, sums16 sum) {
    _mm_storeu_pd(total, _mm_add_pd(_mm_loadu_pd(before), _mm_cvtepi32_pd(sum)));
    _mm_storeu_pd(total + 2, _mm_add_pd(_mm_loadu_pd(before + 2), _mm_cvtepi32_pd(_mm_unpackhi_epi64(sum, sum))));
}

INLINE floats totals_scaled(const double *total, const float *scale) {
    const __m128 low = _mm_cvtpd_ps(_mm_loadu_pd(total)), high = _mm_cvtpd_ps(_mm_loadu_pd(total + 2));
    return _mm_mul_ps(_mm_movelh_ps(low, high), _mm_loadu_ps(scale));
}

INLINE void codes16_store(int16_t *y, floats v, int32_t zero) {
    const __m128i codes = _mm_add_epi32(_mm_cvtps_epi32(v), _mm_set1_epi32(zero));
    _mm_storel_epi64((__m128i *)(void *)y, _mm_packs_epi32(codes, codes));
}

INLINE sums16 sums16_each(sums16 sum, const int16_t *x, int32_t zero, const int8_t *w) {
    int32_t four;
    memcpy(&four, w, sizeof four);
    const __m128i steps = _mm_sub_epi32(_mm_cvtepi16_epi32(_mm_loadl_epi64((const __m128i *)(const void *)x)), _mm_set1_epi32(zero));
    return _mm_add_epi32(sum, _mm_mullo_epi32(steps, _mm_cvtepi8_epi32(_mm_cvtsi32_si128(four))));
}
