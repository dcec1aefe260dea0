/* One register sums 8 channels; the VEX form of vpdpbusd adds four products of u8 pixels and s8 weights to each lane, exactly. */

typedef __m256i accumulator_t, pixels_t, weights_t;

INLINE accumulator_t start(const int32_t *bias) { return _mm256_loadu_si256((const __m256i *)bias); }

INLINE pixels_t load_pixels(const activation *x) {
    int32_t four;
    memcpy(&four, x, 4);
    return _mm256_set1_epi32(four);
}

INLINE weights_t load_weights(const int8_t *w) { return _mm256_loadu_si256((const __m256i *)w); }

INLINE accumulator_t dot(accumulator_t sum, weights_t w, pixels_t x) { return _mm256_dpbusd_avx_epi32(sum, x, w); }

INLINE lanes_t collect(accumulator_t a, accumulator_t b) {
    lanes_t v;
    v.a = a;
    v.b = b;
    return v;
}
