/* A register pair sums 4 channels at two pixels: smmla multiplies 2 pixels by 2 channels over 8 input channels. Its result is
   [pixel 0 channel 0, pixel 0 channel 1, pixel 1 channel 0, pixel 1 channel 1]. */

typedef struct { int32x4_t low, high; } accumulator_t; /* channels 0 and 1, channels 2 and 3 */
typedef int8x16_t pixels_t;                            /* 8 input channels of two pixels */
typedef struct { int8x16_t low, high; } weights_t;     /* 8 input channels of channels 0 and 1, of channels 2 and 3 */

INLINE accumulator_t start(const int32_t *bias) {
    const int32x2_t low = vld1_s32(bias), high = vld1_s32(bias + 2);
    accumulator_t sum;
    sum.low = vcombine_s32(low, low);
    sum.high = vcombine_s32(high, high);
    return sum;
}

INLINE pixels_t load_pixels(const activation *x0, const activation *x1) { return vcombine_s8(vld1_s8(x0), vld1_s8(x1)); }

INLINE weights_t load_weights(const int8_t *w) {
    const int32x4_t a = vreinterpretq_s32_s8(vld1q_s8(w)), b = vreinterpretq_s32_s8(vld1q_s8(w + 4 * LANES));
    weights_t weights;
    weights.low = vreinterpretq_s8_s32(vzip1q_s32(a, b));
    weights.high = vreinterpretq_s8_s32(vzip2q_s32(a, b));
    return weights;
}

INLINE accumulator_t dot(accumulator_t sum, weights_t w, pixels_t x) {
    sum.low = vmmlaq_s32(sum.low, x, w.low);
    sum.high = vmmlaq_s32(sum.high, x, w.high);
    return sum;
}

/* Of two units. */
INLINE void dot_two(accumulator_t *sum0, accumulator_t *sum1, weights_t w0, weights_t w1, pixels_t x) {
    *sum0 = dot(*sum0, w0, x);
    *sum1 = dot(*sum1, w1, x);
}

INLINE lanes_t collect_0(accumulator_t a, accumulator_t b, accumulator_t c, accumulator_t d) {
    lanes_t v;
    v.a = vcombine_s32(vget_low_s32(a.low), vget_low_s32(a.high));
    v.b = vcombine_s32(vget_low_s32(b.low), vget_low_s32(b.high));
    v.c = vcombine_s32(vget_low_s32(c.low), vget_low_s32(c.high));
    v.d = vcombine_s32(vget_low_s32(d.low), vget_low_s32(d.high));
    return v;
}

INLINE lanes_t collect_1(accumulator_t a, accumulator_t b, accumulator_t c, accumulator_t d) {
    lanes_t v;
    v.a = vcombine_s32(vget_high_s32(a.low), vget_high_s32(a.high));
    v.b = vcombine_s32(vget_high_s32(b.low), vget_high_s32(b.high));
    v.c = vcombine_s32(vget_high_s32(c.low), vget_high_s32(c.high));
    v.d = vcombine_s32(vget_high_s32(d.low), vget_high_s32(d.high));
    return v;
}
