/* Two products of 16 bits an instruction: SXTB16 widens the codes 0 and 2, and 1 and 3, of four, and SMLAD sums the products of pairs.
   A sum is one lane. */

typedef int32_t accumulator_t;
typedef struct { int32_t even0, odd0, even1, odd1; } pixels_t; /* two blocks of 4 input channels */
typedef pixels_t weights_t;                                     /* the same of one lane */

INLINE int32_t four_codes(const void *from) {
    int32_t codes;
    memcpy(&codes, from, sizeof codes);
    return codes;
}

INLINE int32_t even_codes(int32_t codes) { return (int32_t)__sxtb16((int8x4_t)codes); }
INLINE int32_t odd_codes(int32_t codes) { return (int32_t)__sxtb16((int8x4_t)((uint32_t)codes >> 8 | (uint32_t)codes << 24)); }

INLINE pixels_t widened(int32_t first, int32_t second) {
    pixels_t codes;
    codes.even0 = even_codes(first);
    codes.odd0 = odd_codes(first);
    codes.even1 = even_codes(second);
    codes.odd1 = odd_codes(second);
    return codes;
}

/* Codes of pixels are signed for these processors. */
INLINE pixels_t load_pixels(const activation *x) { return widened(four_codes(x), four_codes(x + 4)); }
INLINE weights_t load_weights(const int8_t *w) { return widened(four_codes(w), four_codes(w + 4 * LANES)); }

INLINE accumulator_t start(const int32_t *bias) { return *bias; }

/* The empty assembler keeps compilers from beginning with all lanes before one is done, and from storing them in between. */
INLINE accumulator_t dot(accumulator_t sum, weights_t w, pixels_t x) {
    sum = __smlad(w.even0, x.even0, sum);
    sum = __smlad(w.odd0, x.odd0, sum);
    sum = __smlad(w.even1, x.even1, sum);
    sum = __smlad(w.odd1, x.odd1, sum);
    __asm__ volatile("" : "+r"(sum));
    return sum;
}

INLINE lanes_t collect(accumulator_t s0, accumulator_t s1, accumulator_t s2, accumulator_t s3, accumulator_t s4, accumulator_t s5,
                       accumulator_t s6, accumulator_t s7, accumulator_t s8, accumulator_t s9, accumulator_t s10, accumulator_t s11,
                       accumulator_t s12, accumulator_t s13, accumulator_t s14, accumulator_t s15) {
    const lanes_t lanes = {{s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15}};
    return lanes;
}
