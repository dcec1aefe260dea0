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

/* What sums begin with, kept for many tiles: so many numbers of a unit. */
enum { STARTS = 8 };

INLINE accumulator_t kept_start(const int32_t *from) {
    accumulator_t sum;
    sum.low = vld1q_s32(from);
    sum.high = vld1q_s32(from + 4);
    return sum;
}

INLINE void keep_start(int32_t *to, const int32_t *bias) {
    const accumulator_t sum = start(bias);
    vst1q_s32(to, sum.low);
    vst1q_s32(to + 4, sum.high);
}

INLINE pixels_t load_pixels(const activation *x0, const activation *x1) { return vcombine_s8(vld1_s8(x0), vld1_s8(x1)); }

/* These, and where the next ones are. */
INLINE pixels_t next_pixels(const activation **x0, const activation **x1) {
    pixels_t pixels;
#if defined(__GNUC__) && !defined(__clang__) /* which would count the codes as well */
    __asm__("ldr %d0, [%1], #8" : "=w"(pixels), "+r"(*x0) : "m"(*(const activation(*)[8])*x0));
    __asm__("ld1 {%0.d}[1], [%1], #8" : "+w"(pixels), "+r"(*x1) : "m"(*(const activation(*)[8])*x1));
#else
    pixels = load_pixels(*x0, *x1);
    *x0 += 8;
    *x1 += 8;
#endif
    return pixels;
}

/* From four input channels of four channels, and four more. */
INLINE weights_t paired(int8x16_t a, int8x16_t b) {
    weights_t weights;
    weights.low = vreinterpretq_s8_s32(vzip1q_s32(vreinterpretq_s32_s8(a), vreinterpretq_s32_s8(b)));
    weights.high = vreinterpretq_s8_s32(vzip2q_s32(vreinterpretq_s32_s8(a), vreinterpretq_s32_s8(b)));
    return weights;
}

INLINE weights_t load_weights(const int8_t *w) { return paired(vld1q_s8(w), vld1q_s8(w + 4 * LANES)); }

typedef struct { weights_t first, second; } two_weights_t;

/* Of two units. */
INLINE two_weights_t load_two_weights(const int8_t *w) {
    two_weights_t two;
    two.first = load_weights(w);
    two.second = load_weights(w + 16);
    return two;
}

/* Weights of two units as they are multiplied, of so many steps one after the other: many tiles then take them. */
INLINE void zip_weights(int8_t *to, const int8_t *w, int32_t steps) {
    for (; steps > 0; steps--, to += 64, w += 8 * LANES) {
        const two_weights_t two = load_two_weights(w);
        vst1q_s8(to, two.first.low);
        vst1q_s8(to + 16, two.first.high);
        vst1q_s8(to + 32, two.second.low);
        vst1q_s8(to + 48, two.second.high);
    }
}

/* These of a step, and `w` is where the next ones are. */
#if defined(__GNUC__) && !defined(__clang__) /* which would add by another instruction */
#define NEXT_ZIPPED(two, w) \
    __asm__("ldp %q0, %q1, [%2], 64" : "=w"((two).first.low), "=w"((two).first.high), "+r"(w) : "m"(*(const int8_t(*)[32])(w))); \
    (two).second.low = vld1q_s8((w) - 32); \
    (two).second.high = vld1q_s8((w) - 16)
#else
#define NEXT_ZIPPED(two, w) \
    (two).first.low = vld1q_s8(w), (two).first.high = vld1q_s8((w) + 16), (two).second.low = vld1q_s8((w) + 32), \
    (two).second.high = vld1q_s8((w) + 48), (w) += 64
#endif

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

/* gcc itself keeps these sums in their registers. */
INLINE void hold(accumulator_t *a, accumulator_t *b) { (void)a, (void)b; }

/* Four channels of the first pixel, and of the second: by a single instruction, which gcc does not make of vcombine_s32. */
INLINE int32x4_t first_of(accumulator_t a) {
    return vreinterpretq_s32_s64(vzip1q_s64(vreinterpretq_s64_s32(a.low), vreinterpretq_s64_s32(a.high)));
}

INLINE int32x4_t second_of(accumulator_t a) {
    return vreinterpretq_s32_s64(vzip2q_s64(vreinterpretq_s64_s32(a.low), vreinterpretq_s64_s32(a.high)));
}

INLINE lanes_t collect_0(accumulator_t a, accumulator_t b, accumulator_t c, accumulator_t d) {
    lanes_t v;
    v.a = first_of(a);
    v.b = first_of(b);
    v.c = first_of(c);
    v.d = first_of(d);
    return v;
}

INLINE lanes_t collect_1(accumulator_t a, accumulator_t b, accumulator_t c, accumulator_t d) {
    lanes_t v;
    v.a = second_of(a);
    v.b = second_of(b);
    v.c = second_of(c);
    v.d = second_of(d);
    return v;
}

/* Of two units: two channels of the first pixel and of the second, then two more. Codes stay so, and scales are meant for them. */
INLINE lanes_t collect_both(accumulator_t a, accumulator_t b) {
    lanes_t v;
    v.a = a.low;
    v.b = a.high;
    v.c = b.low;
    v.d = b.high;
    return v;
}

INLINE void scales_of_two(float *to, const float *scale) {
    int32_t i;
    for (i = 0; i < LANES / 2; i += 2) {
        const float32x2_t two = vld1_f32(scale + i);
        vst1q_f32(to + 2 * i, vcombine_f32(two, two));
    }
}

INLINE int8x16_t load_two(const activation *x0, const activation *x1) {
    const int8x8_t none = vdup_n_s8(0);
    return vreinterpretq_s8_s16(vzip1q_s16(vreinterpretq_s16_s8(vcombine_s8(vld1_s8(x0), none)), vreinterpretq_s16_s8(vcombine_s8(vld1_s8(x1), none))));
}

INLINE void store_two(activation *y0, activation *y1, int8x16_t codes) {
    const int16x8_t two = vreinterpretq_s16_s8(codes);
    vst1_s8(y0, vget_low_s8(vreinterpretq_s8_s16(vuzp1q_s16(two, two))));
    vst1_s8(y1, vget_low_s8(vreinterpretq_s8_s16(vuzp2q_s16(two, two))));
}
