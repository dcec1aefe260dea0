/* A register pair sums 4 channels, two partial sums each. Two products fit 16 bits because one weight of a channel at most is -128, so vmull
   and vmlal multiply eight at a time and vpadal adds pairs of them to 32 bits. */

typedef struct { int32x4_t low, high; } accumulator_t;
typedef struct { int8x8_t a, b; } pixels_t;                /* two blocks of 4 input channels, twice */
typedef struct { int8x16_t a, b; } weights_t;

INLINE accumulator_t start(const int32_t *bias) {
    const uint32x4_t four = vreinterpretq_u32_s32(vld1q_s32(bias));
    accumulator_t sum;
    sum.low = vreinterpretq_s32_u64(vmovl_u32(vget_low_u32(four)));
    sum.high = vreinterpretq_s32_u64(vmovl_u32(vget_high_u32(four)));
    return sum;
}

/* What sums begin with, kept for many tiles: so many numbers of a unit. */
enum { STARTS = 4 };

INLINE void keep_start(int32_t *to, const int32_t *bias) { vst1q_s32(to, vld1q_s32(bias)); }
INLINE accumulator_t kept_start(const int32_t *from) { return start(from); }

INLINE pixels_t load_pixels(const activation *x) {
    const int32x2_t both = vreinterpret_s32_s8(vld1_s8(x));
    pixels_t pixels;
    pixels.a = vreinterpret_s8_s32(vdup_lane_s32(both, 0));
    pixels.b = vreinterpret_s8_s32(vdup_lane_s32(both, 1));
    return pixels;
}

/* Four codes twice, and where the next ones are. */
INLINE int8x8_t next_four(const activation **x) {
#if defined(__GNUC__)
    int8x8_t four;
    __asm__ volatile("vld1.32 {%P0[]}, [%1]!" : "=w"(four), "+r"(*x) : "m"(*(const activation(*)[4])*x));
    return four;
#else
    int32_t four;
    memcpy(&four, *x, sizeof four);
    *x += sizeof four;
    return vreinterpret_s8_s32(vdup_n_s32(four));
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

/* 32 of them, by one instruction. */
INLINE int8x16x2_t load_32(const int8_t *w) {
#if defined(__clang__) || !defined(__GNUC__)
    return vld1q_s8_x2(w);
#else
    int8x16x2_t pair;
    __asm__("vld1.8 %h0, [%1]" : "=w"(pair) : "r"(w), "m"(*(const int8_t(*)[32])w));
    return pair;
#endif
}

/* Of two units. */
INLINE two_weights_t load_two_weights(const int8_t *w) {
    const int8x16x2_t a = load_32(w), b = load_32(w + 4 * LANES);
    two_weights_t two;
    two.first.a = a.val[0];
    two.first.b = b.val[0];
    two.second.a = a.val[1];
    two.second.b = b.val[1];
    return two;
}

INLINE accumulator_t dot(accumulator_t sum, weights_t w, pixels_t x) {
    const int16x8_t low = vmlal_s8(vmull_s8(vget_low_s8(w.a), x.a), vget_low_s8(w.b), x.b);
    const int16x8_t high = vmlal_s8(vmull_s8(vget_high_s8(w.a), x.a), vget_high_s8(w.b), x.b);
    sum.low = vpadalq_s16(sum.low, low);
    sum.high = vpadalq_s16(sum.high, high);
    return sum;
}

/* Of two units, in such an order that none of the instructions waits for the one before it. */
INLINE void dot_two(accumulator_t *sum0, accumulator_t *sum1, weights_t w0, weights_t w1, pixels_t x) {
    int16x8_t low0 = vmull_s8(vget_low_s8(w0.a), x.a);
    int16x8_t high0 = vmull_s8(vget_high_s8(w0.a), x.a);
    low0 = vmlal_s8(low0, vget_low_s8(w0.b), x.b);
    int16x8_t low1 = vmull_s8(vget_low_s8(w1.a), x.a);
    high0 = vmlal_s8(high0, vget_high_s8(w0.b), x.b);
    sum0->low = vpadalq_s16(sum0->low, low0);
    int16x8_t high1 = vmull_s8(vget_high_s8(w1.a), x.a);
    low1 = vmlal_s8(low1, vget_low_s8(w1.b), x.b);
    sum0->high = vpadalq_s16(sum0->high, high0);
    high1 = vmlal_s8(high1, vget_high_s8(w1.b), x.b);
    sum1->low = vpadalq_s16(sum1->low, low1);
    sum1->high = vpadalq_s16(sum1->high, high1);
}

/* Nothing that follows is computed earlier: there are registers for the sums and for what is multiplied with four codes, and no more. */
INLINE void hold(accumulator_t *a, accumulator_t *b) {
#if defined(__GNUC__) && !defined(__clang__)
    __asm__ volatile("" : "+w"(a->low), "+w"(a->high), "+w"(b->low), "+w"(b->high));
#else
    (void)a, (void)b;
#endif
}

INLINE int32x4_t add_pairs(accumulator_t sum) {
    return vcombine_s32(vpadd_s32(vget_low_s32(sum.low), vget_high_s32(sum.low)),
                        vpadd_s32(vget_low_s32(sum.high), vget_high_s32(sum.high)));
}

INLINE lanes_t collect(accumulator_t a, accumulator_t b, accumulator_t c, accumulator_t d) {
    lanes_t v;
    v.a = add_pairs(a);
    v.b = add_pairs(b);
    v.c = add_pairs(c);
    v.d = add_pairs(d);
    return v;
}
