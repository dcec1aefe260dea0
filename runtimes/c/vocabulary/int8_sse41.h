/* One register sums 2 channels, two partial sums each: weights and pixels are widened to 16 bits, where pmaddwd is exact. */

typedef __m128i accumulator_t, pixels_t, weights_t;

INLINE accumulator_t start(const int32_t *bias) { return _mm_cvtepu32_epi64(_mm_loadl_epi64((const __m128i *)bias)); }

INLINE pixels_t load_pixels(const activation *x) {
    int32_t four;
    memcpy(&four, x, 4);
    return widen_to_16(_mm_set1_epi32(four));
}

INLINE weights_t load_weights(const int8_t *w) { return _mm_cvtepi8_epi16(_mm_loadl_epi64((const __m128i *)w)); }

INLINE accumulator_t dot(accumulator_t sum, weights_t w, pixels_t x) { return _mm_add_epi32(sum, _mm_madd_epi16(w, x)); }

INLINE lanes_t collect(accumulator_t a, accumulator_t b, accumulator_t c, accumulator_t d, accumulator_t e, accumulator_t f,
                       accumulator_t g, accumulator_t h) {
    lanes_t v;
    v.a = _mm_hadd_epi32(a, b);
    v.b = _mm_hadd_epi32(c, d);
    v.c = _mm_hadd_epi32(e, f);
    v.d = _mm_hadd_epi32(g, h);
    return v;
}
