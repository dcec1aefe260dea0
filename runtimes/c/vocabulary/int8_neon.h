/* A register pair sums 4 channels, two partial sums each. Two products fit 16 bits because one weight of a channel at most is -128, so smull
   and smlal multiply eight at a time and sadalp adds pairs of them to 32 bits. */

typedef struct { int32x4_t low, high; } accumulator_t;
typedef struct { int8x16_t a, b; } pixels_t, weights_t; /* two blocks of 4 input channels */

INLINE accumulator_t start(const int32_t *bias) {
    const uint32x4_t four = vreinterpretq_u32_s32(vld1q_s32(bias));
    accumulator_t sum;
    sum.low = vreinterpretq_s32_u64(vmovl_u32(vget_low_u32(four)));
    sum.high = vreinterpretq_s32_u64(vmovl_u32(vget_high_u32(four)));
    return sum;
}

/* What sums begin with, made once for many tiles: so many numbers of a unit. */
enum { STARTS = 8 };

INLINE void keep_start(int32_t *to, const int32_t *bias) {
    const accumulator_t sum = start(bias);
    vst1q_s32(to, sum.low);
    vst1q_s32(to + 4, sum.high);
}

INLINE accumulator_t kept_start(const int32_t *from) {
    accumulator_t sum;
    sum.low = vld1q_s32(from);
    sum.high = vld1q_s32(from + 4);
    return sum;
}

INLINE pixels_t load_pixels(const activation *x) {
    const int32x2_t both = vreinterpret_s32_s8(vld1_s8(x));
    pixels_t pixels;
    pixels.a = vreinterpretq_s8_s32(vdupq_lane_s32(both, 0));
    pixels.b = vreinterpretq_s8_s32(vdupq_lane_s32(both, 1));
    return pixels;
}

/* Four codes four times, and where the next ones are. */
INLINE int8x16_t next_four(const activation **x) {
#if defined(__GNUC__) /* whose compilers load numbers and copy them, and add addresses up */
    int8x16_t four;
    __asm__("ld1r {%0.4s}, [%1], #4" : "=w"(four), "+r"(*x) : "m"(*(const activation(*)[4])*x));
    return four;
#else
    int32_t four;
    memcpy(&four, *x, sizeof four);
    *x += sizeof four;
    return vreinterpretq_s8_s32(vdupq_n_s32(four));
#endif
}

INLINE pixels_t next_pixels(const activation **x) {
    pixels_t pixels;
    pixels.a = next_four(x);
    pixels.b = next_four(x);
    return pixels;
}

INLINE weights_t load_weights(const int8_t *w) {
    weights_t weights;
    weights.a = vld1q_s8(w);
    weights.b = vld1q_s8(w + 4 * LANES);
    return weights;
}

typedef struct { weights_t first, second; } two_weights_t;

/* Of two units. */
INLINE two_weights_t load_two_weights(const int8_t *w) {
    two_weights_t two;
    two.first = load_weights(w);
    two.second = load_weights(w + 16);
    return two;
}

/* load_two_weights, and `w` is so many bytes further. */
#if defined(__GNUC__) && !defined(__clang__) /* which would add by another instruction */
#define NEXT_TWO_WEIGHTS(two, w, bytes) \
    __asm__("ldp %q0, %q1, [%2], %3" \
            : "=w"((two).first.a), "=w"((two).second.a), "+r"(w) \
            : "i"(bytes), "m"(*(const int8_t(*)[32])(w))); \
    (two).first.b = vld1q_s8((w) + (4 * LANES - (bytes))); \
    (two).second.b = vld1q_s8((w) + (4 * LANES + 16 - (bytes)))
#else
#define NEXT_TWO_WEIGHTS(two, w, bytes) (two) = load_two_weights(w), (w) += (bytes)
#endif

INLINE accumulator_t dot(accumulator_t sum, weights_t w, pixels_t x) {
    int16x8_t low = vmull_s8(vget_low_s8(w.a), vget_low_s8(x.a)), high = vmull_high_s8(w.a, x.a);
    low = vmlal_s8(low, vget_low_s8(w.b), vget_low_s8(x.b));
    high = vmlal_high_s8(high, w.b, x.b);
    sum.low = vpadalq_s16(sum.low, low);
    sum.high = vpadalq_s16(sum.high, high);
    return sum;
}

/* Of two units, in such an order that none of the instructions waits for the one before it. */
INLINE void dot_two(accumulator_t *sum0, accumulator_t *sum1, weights_t w0, weights_t w1, pixels_t x) {
    int16x8_t low0 = vmull_s8(vget_low_s8(w0.a), vget_low_s8(x.a));
    int16x8_t high0 = vmull_high_s8(w0.a, x.a);
    low0 = vmlal_s8(low0, vget_low_s8(w0.b), vget_low_s8(x.b));
    int16x8_t low1 = vmull_s8(vget_low_s8(w1.a), vget_low_s8(x.a));
    high0 = vmlal_high_s8(high0, w0.b, x.b);
    sum0->low = vpadalq_s16(sum0->low, low0);
    int16x8_t high1 = vmull_high_s8(w1.a, x.a);
    low1 = vmlal_s8(low1, vget_low_s8(w1.b), vget_low_s8(x.b));
    sum0->high = vpadalq_s16(sum0->high, high0);
    high1 = vmlal_high_s8(high1, w1.b, x.b);
    sum1->low = vpadalq_s16(sum1->low, low1);
    sum1->high = vpadalq_s16(sum1->high, high1);
}

/* Of the first four inputs of a step alone. */
INLINE accumulator_t dot_half(accumulator_t sum, weights_t w, int8x16_t x) {
    sum.low = vpadalq_s16(sum.low, vmull_s8(vget_low_s8(w.a), vget_low_s8(x)));
    sum.high = vpadalq_s16(sum.high, vmull_high_s8(w.a, x));
    return sum;
}

INLINE void dot_two_of_half(accumulator_t *sum0, accumulator_t *sum1, weights_t w0, weights_t w1, int8x16_t x) {
    *sum0 = dot_half(*sum0, w0, x);
    *sum1 = dot_half(*sum1, w1, x);
}

/* Nothing that follows is computed earlier: gcc would run out of registers, and copy products. */
INLINE void hold(accumulator_t *a, accumulator_t *b) {
#if defined(__GNUC__) && !defined(__clang__)
    __asm__ volatile("" : "+w"(a->low), "+w"(a->high), "+w"(b->low), "+w"(b->high));
#else
    (void)a, (void)b;
#endif
}

INLINE lanes_t collect(accumulator_t a, accumulator_t b, accumulator_t c, accumulator_t d) {
    lanes_t v;
    v.a = vpaddq_s32(a.low, a.high);
    v.b = vpaddq_s32(b.low, b.high);
    v.c = vpaddq_s32(c.low, c.high);
    v.d = vpaddq_s32(d.low, d.high);
    return v;
}
