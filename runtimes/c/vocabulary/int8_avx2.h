/* One register sums 4 channels, two partial sums each: weights and pixels are widened to 16 bits, where vpmaddwd is exact
   (vpmaddubsw would saturate). */

typedef __m256i accumulator_t, pixels_t, weights_t;

INLINE accumulator_t start(const int32_t *bias) { return _mm256_cvtepu32_epi64(_mm_loadu_si128((const __m128i *)bias)); }

INLINE pixels_t load_pixels(const activation *x) {
    int32_t four;
    memcpy(&four, x, 4);
    return _mm256_cvtepu8_epi16(_mm_set1_epi32(four));
}

INLINE weights_t load_weights(const int8_t *w) { return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)w)); }

INLINE accumulator_t dot(accumulator_t sum, weights_t w, pixels_t x) { return _mm256_add_epi32(sum, _mm256_madd_epi16(w, x)); }

INLINE lanes_t collect(accumulator_t a, accumulator_t b, accumulator_t c, accumulator_t d) {
    lanes_t v;
    v.a = _mm256_permute4x64_epi64(_mm256_hadd_epi32(a, b), 0xD8); /* hadd works in 128-bit halves */
    v.b = _mm256_permute4x64_epi64(_mm256_hadd_epi32(c, d), 0xD8);
    return v;
}
