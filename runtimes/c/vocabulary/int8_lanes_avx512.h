/* Sixteen int32 lanes in one AVX-512 register. gcc 12 keeps accumulators in registers only when they are vectors of int. */

typedef int lanes_t __attribute__((vector_size(64)));

INLINE lanes_t round_clamped(__m512 v, float low, float high) {
    v = _mm512_min_ps(_mm512_max_ps(v, _mm512_set1_ps(low)), _mm512_set1_ps(high));
    return (lanes_t)_mm512_cvtps_epi32(v);
}

INLINE lanes_t settle(lanes_t sum, const float *scale, ending_t e) {
    return round_clamped(shaped(_mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)sum), _mm512_loadu_ps(scale)), scale, e), e.low, e.high);
}

INLINE lanes_t add_residual(lanes_t v, float v_scale, lanes_t r, int32_t zero, float r_scale, float low, float high) {
    const __m512 a = _mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)v), _mm512_set1_ps(v_scale));
    const __m512i centred = _mm512_sub_epi32((__m512i)r, _mm512_set1_epi32(zero));
    return round_clamped(_mm512_add_ps(a, _mm512_mul_ps(_mm512_cvtepi32_ps(centred), _mm512_set1_ps(r_scale))), low, high);
}

INLINE lanes_t load_lanes(const activation *x) { return (lanes_t)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)x)); }

INLINE void store_lanes(activation *y, lanes_t v, int32_t zero) {
    _mm_storeu_si128((__m128i *)y, _mm512_cvtepi32_epi8(_mm512_add_epi32((__m512i)v, _mm512_set1_epi32(zero))));
}

INLINE void scale_lanes(float *y, lanes_t sum, const float *scale) {
    _mm512_storeu_ps(y, _mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)sum), _mm512_loadu_ps(scale)));
}
