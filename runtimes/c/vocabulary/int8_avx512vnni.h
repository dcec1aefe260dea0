/* One register sums a panel of 16 channels; vpdpbusd adds four products of u8 pixels and s8 weights to each lane, exactly. */

typedef lanes_t accumulator_t, pixels_t, weights_t;

INLINE accumulator_t start(const int32_t *bias) { return (accumulator_t)_mm512_loadu_si512((const void *)bias); }

INLINE pixels_t load_pixels(const activation *x) {
    int32_t four;
    memcpy(&four, x, 4);
    return (pixels_t)_mm512_set1_epi32(four);
}

INLINE weights_t load_weights(const int8_t *w) { return (weights_t)_mm512_loadu_si512((const void *)w); }

INLINE accumulator_t dot(accumulator_t sum, weights_t w, pixels_t x) {
    return (accumulator_t)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)x, (__m512i)w);
}

INLINE lanes_t collect(accumulator_t sum) { return sum; }
