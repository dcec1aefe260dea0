/* One register sums 4 channels; sdot adds four products to each lane. */

typedef int32x4_t accumulator_t;
typedef int8x8_t pixels_t;                     /* two blocks of 4 input channels */
typedef struct { int8x16_t a, b; } weights_t;

INLINE accumulator_t start(const int32_t *bias) { return vld1q_s32(bias); }

/* What sums begin with, kept for many tiles: so many numbers of a unit. */
enum { STARTS = 4 };

INLINE void keep_start(int32_t *to, const int32_t *bias) { vst1q_s32(to, vld1q_s32(bias)); }
INLINE accumulator_t kept_start(const int32_t *from) { return start(from); }

INLINE pixels_t load_pixels(const activation *x) { return vld1_s8(x); }

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
    return vdotq_lane_s32(vdotq_lane_s32(sum, w.a, x, 0), w.b, x, 1);
}

/* Of two units. */
INLINE void dot_two(accumulator_t *sum0, accumulator_t *sum1, weights_t w0, weights_t w1, pixels_t x) {
    *sum0 = dot(*sum0, w0, x);
    *sum1 = dot(*sum1, w1, x);
}

typedef int8x16_t two_steps_t; /* four blocks */

/* These, and where the next ones are. */
INLINE two_steps_t next_two_steps(const activation **x) {
    two_steps_t two;
#if defined(__GNUC__) && !defined(__clang__) /* which would count the codes as well */
    __asm__("ldr %q0, [%1], #16" : "=w"(two), "+r"(*x) : "m"(*(const activation(*)[16])*x));
#else
    two = vld1q_s8(*x);
    *x += 16;
#endif
    return two;
}

/* dot_two with the pixels of the first step, and of the second. */
INLINE void dot_two_of_0(accumulator_t *sum0, accumulator_t *sum1, weights_t w0, weights_t w1, two_steps_t x) {
    *sum0 = vdotq_laneq_s32(vdotq_laneq_s32(*sum0, w0.a, x, 0), w0.b, x, 1);
    *sum1 = vdotq_laneq_s32(vdotq_laneq_s32(*sum1, w1.a, x, 0), w1.b, x, 1);
}

INLINE void dot_two_of_1(accumulator_t *sum0, accumulator_t *sum1, weights_t w0, weights_t w1, two_steps_t x) {
    *sum0 = vdotq_laneq_s32(vdotq_laneq_s32(*sum0, w0.a, x, 2), w0.b, x, 3);
    *sum1 = vdotq_laneq_s32(vdotq_laneq_s32(*sum1, w1.a, x, 2), w1.b, x, 3);
}

/* Of the first four inputs of the second step alone. */
INLINE void dot_two_of_half(accumulator_t *sum0, accumulator_t *sum1, weights_t w0, weights_t w1, two_steps_t x) {
    *sum0 = vdotq_laneq_s32(*sum0, w0.a, x, 2);
    *sum1 = vdotq_laneq_s32(*sum1, w1.a, x, 2);
}

INLINE lanes_t collect(accumulator_t a, accumulator_t b, accumulator_t c, accumulator_t d) {
    lanes_t v;
    v.a = a;
    v.b = b;
    v.c = c;
    v.d = d;
    return v;
}
