/* A sum is one lane: VMLADAV adds the products of 16 inputs of a channel, which lie in four blocks, to a general register. */

typedef int32_t accumulator_t;
typedef int8x16_t pixels_t;  /* four blocks of 4 input channels */
typedef int8x16_t weights_t; /* the same of one lane */

INLINE pixels_t load_pixels(const activation *x) { return vldrbq_s8(x); }

INLINE weights_t load_weights(const int8_t *w) {
    const uint32x4_t blocks = vshlq_n_u32(vidupq_n_u32(0, 1), 6); /* 4 * LANES bytes apart */
    return vreinterpretq_s8_s32(vldrwq_gather_offset_s32((const int32_t *)(const void *)w, blocks));
}

INLINE accumulator_t start(const int32_t *bias) { return *bias; }

/* The empty assembler keeps compilers from beginning with all lanes before one is done, and from storing them in between. */
INLINE accumulator_t dot(accumulator_t sum, weights_t w, pixels_t x) {
    sum = vmladavaq_s8(sum, w, x);
    __asm__ volatile("" : "+r"(sum));
    return sum;
}

INLINE lanes_t collect(accumulator_t s0, accumulator_t s1, accumulator_t s2, accumulator_t s3, accumulator_t s4, accumulator_t s5,
                       accumulator_t s6, accumulator_t s7, accumulator_t s8, accumulator_t s9, accumulator_t s10, accumulator_t s11,
                       accumulator_t s12, accumulator_t s13, accumulator_t s14, accumulator_t s15) {
    const int32_t sums[LANES] = {s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15};
    lanes_t lanes;
    lanes.a = vld1q_s32(sums);
    lanes.b = vld1q_s32(sums + 4);
    lanes.c = vld1q_s32(sums + 8);
    lanes.d = vld1q_s32(sums + 12);
    return lanes;
}
