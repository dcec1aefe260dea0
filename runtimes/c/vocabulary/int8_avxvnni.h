/* One register sums 8 channels; the VEX form of vpdpbusd adds four products of u8 pixels and s8 weights to each lane, exactly. */

typedef int accumulator_t __attribute__((vector_size(32))); /* for gcc 12, as in AVX-512 */
typedef __m256i pixels_t, weights_t;

INLINE accumulator_t start(const int32_t *bias) { return (accumulator_t)_mm256_loadu_si256((const __m256i *)bias); }

INLINE pixels_t load_pixels(const activation *x) {
    int32_t four;
    memcpy(&four, x, 4);
    return _mm256_set1_epi32(four);
}

INLINE weights_t load_weights(const int8_t *w) { return _mm256_loadu_si256((const __m256i *)w); }

INLINE accumulator_t dot(accumulator_t sum, weights_t w, pixels_t x) {
    return (accumulator_t)_mm256_dpbusd_avx_epi32((__m256i)sum, x, w);
}

INLINE lanes_t collect(accumulator_t a, accumulator_t b) {
    lanes_t v;
    v.a = (__m256i)a;
    v.b = (__m256i)b;
    return v;
}
