/* Rows of codes that are normalized. */
INLINE lanes_t square_lanes(lanes_t sum, lanes_t v) {
    sum.a = _mm256_add_epi32(sum.a, _mm256_mullo_epi32(v.a, v.a));
    sum.b = _mm256_add_epi32(sum.b, _mm256_mullo_epi32(v.b, v.b));
    return sum;
}

INLINE __m256i normalize_8(__m256i v, float count, float sum, float factor, const float *scale, const float *offset, float low,
                           float high) {
    const __m256 apart = _mm256_sub_ps(_mm256_mul_ps(_mm256_cvtepi32_ps(v), _mm256_set1_ps(count)), _mm256_set1_ps(sum));
    const __m256 scaled = _mm256_mul_ps(_mm256_mul_ps(apart, _mm256_set1_ps(factor)), _mm256_loadu_ps(scale));
    return round_clamped(_mm256_add_ps(scaled, _mm256_loadu_ps(offset)), low, high);
}

INLINE lanes_t normalize_lanes(lanes_t v, float count, float sum, float factor, const float *scale, const float *offset, float low,
                               float high) {
    v.a = normalize_8(v.a, count, sum, factor, scale, offset, low, high);
    v.b = normalize_8(v.b, count, sum, factor, scale + 8, offset + 8, low, high);
    return v;
}
