/* Rows of codes that are normalized. */
INLINE lanes_t square_lanes(lanes_t sum, lanes_t v) { return sum + v * v; }

INLINE lanes_t normalize_lanes(lanes_t v, float count, float sum, float factor, const float *scale, const float *offset, float low,
                               float high) {
    const __m512 apart = _mm512_sub_ps(_mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)v), _mm512_set1_ps(count)), _mm512_set1_ps(sum));
    const __m512 scaled = _mm512_mul_ps(_mm512_mul_ps(apart, _mm512_set1_ps(factor)), _mm512_loadu_ps(scale));
    return round_clamped(_mm512_add_ps(scaled, _mm512_loadu_ps(offset)), low, high);
}
