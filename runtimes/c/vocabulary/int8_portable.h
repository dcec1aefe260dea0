/* Sums in plain C. */

typedef lanes_t accumulator_t;
typedef struct { int32_t k[4]; } pixels_t;
typedef struct { const int8_t *w; } weights_t;

INLINE accumulator_t start(const int32_t *bias) {
    accumulator_t sum;
    int i;
    for (i = 0; i < LANES; i++) sum.lane[i] = bias[i];
    return sum;
}

INLINE pixels_t load_pixels(const activation *x) {
    pixels_t pixels;
    int i;
    for (i = 0; i < 4; i++) pixels.k[i] = x[i];
    return pixels;
}

INLINE weights_t load_weights(const int8_t *w) {
    weights_t weights;
    weights.w = w;
    return weights;
}

INLINE accumulator_t dot(accumulator_t sum, weights_t weights, pixels_t x) {
    int i;
    for (i = 0; i < LANES; i++) {
        const int8_t *w = weights.w + 4 * i;
        sum.lane[i] += w[0] * x.k[0] + w[1] * x.k[1] + w[2] * x.k[2] + w[3] * x.k[3];
    }
    return sum;
}

INLINE lanes_t collect(accumulator_t sum) { return sum; }
