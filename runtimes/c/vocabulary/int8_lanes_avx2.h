/* Sixteen int32 lanes in two AVX2 registers. */

typedef struct { __m256i a, b; } lanes_t;

INLINE __m256i round_clamped(__m256 v, float low, float high) {
    return _mm256_cvtps_epi32(_mm256_min_ps(_mm256_max_ps(v, _mm256_set1_ps(low)), _mm256_set1_ps(high)));
}

INLINE lanes_t settle(lanes_t sum, const float *scale, ending_t e) {
    sum.a = round_clamped(shaped(_mm256_mul_ps(_mm256_cvtepi32_ps(sum.a), _mm256_loadu_ps(scale)), scale, e), e.low, e.high);
    sum.b = round_clamped(shaped(_mm256_mul_ps(_mm256_cvtepi32_ps(sum.b), _mm256_loadu_ps(scale + 8)), scale + 8, e), e.low, e.high);
    return sum;
}

INLINE __m256i add_residual_8(__m256i v, float v_scale, __m256i r, int32_t zero, float r_scale, float low, float high) {
    const __m256 a = _mm256_mul_ps(_mm256_cvtepi32_ps(v), _mm256_set1_ps(v_scale));
    const __m256i centred = _mm256_sub_epi32(r, _mm256_set1_epi32(zero));
    return round_clamped(_mm256_add_ps(a, _mm256_mul_ps(_mm256_cvtepi32_ps(centred), _mm256_set1_ps(r_scale))), low, high);
}

INLINE lanes_t add_residual(lanes_t v, float v_scale, lanes_t r, int32_t zero, float r_scale, float low, float high) {
    v.a = add_residual_8(v.a, v_scale, r.a, zero, r_scale, low, high);
    v.b = add_residual_8(v.b, v_scale, r.b, zero, r_scale, low, high);
    return v;
}

INLINE lanes_t load_lanes(const activation *x) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)x);
    lanes_t v;
    v.a = _mm256_cvtepu8_epi32(bytes);
    v.b = _mm256_cvtepu8_epi32(_mm_srli_si128(bytes, 8));
    return v;
}

INLINE void store_lanes(activation *y, lanes_t v, int32_t zero) {
    const __m256i offset = _mm256_set1_epi32(zero);
    const __m256i pairs = _mm256_packs_epi32(_mm256_add_epi32(v.a, offset), _mm256_add_epi32(v.b, offset));
    const __m256i words = _mm256_permute4x64_epi64(pairs, 0xD8); /* packs works in 128-bit halves */
    _mm_storeu_si128((__m128i *)y, _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}

INLINE void scale_lanes(float *y, lanes_t sum, const float *scale) {
    _mm256_storeu_ps(y, _mm256_mul_ps(_mm256_cvtepi32_ps(sum.a), _mm256_loadu_ps(scale)));
    _mm256_storeu_ps(y + 8, _mm256_mul_ps(_mm256_cvtepi32_ps(sum.b), _mm256_loadu_ps(scale + 8)));
}
