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

/* Twice as many. */
#if defined(__GNUC__) && !defined(__clang__)
#define NEXT_FOUR_STEPS(two, more, x) \
    __asm__("ldp %q0, %q1, [%2], #32" : "=w"(two), "=w"(more), "+r"(x) : "m"(*(const activation(*)[32])(x)))
#else
#define NEXT_FOUR_STEPS(two, more, x) (two) = vld1q_s8(x), (more) = vld1q_s8((x) + 16), (x) += 32
#endif

/* A block of four inputs by a panel is loaded, in the order of units, and `w` is where the next one lies. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__cplusplus)
/* One instruction, whose registers follow one another: gcc moves others to make room where it chooses them. */
#define NEXT_PANEL(w0, w1, w2, w3, w) \
    do { \
        register int8x16_t kept_0 __asm__("v28"), kept_1 __asm__("v29"), kept_2 __asm__("v30"), kept_3 __asm__("v31"); \
        __asm__("ld1 {v28.16b - v31.16b}, [%4], #64" \
                : "=w"(kept_0), "=w"(kept_1), "=w"(kept_2), "=w"(kept_3), "+r"(w) \
                : "m"(*(const int8_t(*)[64])(w))); \
        (w0) = kept_0; \
        (w1) = kept_1; \
        (w2) = kept_2; \
        (w3) = kept_3; \
    } while (0)
#else
#define NEXT_PANEL(w0, w1, w2, w3, w) \
    (w0) = vld1q_s8(w), (w1) = vld1q_s8((w) + 16), (w2) = vld1q_s8((w) + 32), (w3) = vld1q_s8((w) + 48), (w) += 64
#endif

/* The products of a unit and one of four blocks of a pixel, or of two. */
#if defined(__GNUC__) && !defined(__clang__) /* which would sum in other registers behind each loop */
#define ADD_BLOCK(sum, w, x, block) __asm__("sdot %0.4s, %1.16b, %2.4b[" #block "]" : "+w"(sum) : "w"(w), "w"(x))
#define ADD_SHORT_BLOCK ADD_BLOCK
#else
#define ADD_BLOCK(sum, w, x, block) (sum) = vdotq_laneq_s32(sum, w, x, block)
#define ADD_SHORT_BLOCK(sum, w, x, block) (sum) = vdotq_lane_s32(sum, w, x, block)
#endif

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
