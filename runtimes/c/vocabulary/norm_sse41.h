/* Rows of codes that are normalized. */
INLINE lanes_t square_lanes(lanes_t sum, lanes_t v) {
    sum.a = _mm_add_epi32(sum.a, _mm_mullo_epi32(v.a, v.a));
    sum.b = _mm_add_epi32(sum.b, _mm_mullo_epi32(v.b, v.b));
    sum.c = _mm_add_epi32(sum.c, _mm_mullo_epi32(v.c, v.c));
    sum.d = _mm_add_epi32(sum.d, _mm_mullo_epi32(v.d, v.d));
    return sum;
}

INLINE __m128i normalize_4(__m128i v, float count, float sum, float factor, const float *scale, const float *offset, float low,
                           float high) {
    const __m128 apart = _mm_sub_ps(_mm_mul_ps(_mm_cvtepi32_ps(v), _mm_set1_ps(count)), _mm_set1_ps(sum));
    const __m128 scaled = _mm_mul_ps(_mm_mul_ps(apart, _mm_set1_ps(factor)), _mm_loadu_ps(scale));
    return round_clamped(_mm_add_ps(scaled, _mm_loadu_ps(offset)), low, high);
}

INLINE lanes_t normalize_lanes(lanes_t v, float count, float sum, float factor, const float *scale, const float *offset, float low,
                               float high) {
    v.a = normalize_4(v.a, count, sum, factor, scale, offset, low, high);
    v.b = normalize_4(v.b, count, sum, factor, scale + 4, offset + 4, low, high);
    v.c = normalize_4(v.c, count, sum, factor, scale + 8, offset + 8, low, high);
    v.d = normalize_4(v.d, count, sum, factor, scale + 12, offset + 12, low, high);
    return v;
}
