/* Depthwise words: four taps are interleaved byte by byte, so that sdot adds all four products to each lane. */

typedef lanes_t sums_t;
typedef struct { int8x16_t q0, q1, q2, q3; } filters_t, taps_t; /* four channels each */

INLINE taps_t interleaved(int8x16_t x0, int8x16_t x1, int8x16_t x2, int8x16_t x3) {
    const int8x16x2_t first = vzipq_s8(x0, x1), second = vzipq_s8(x2, x3);
    const int16x8x2_t low = vzipq_s16(vreinterpretq_s16_s8(first.val[0]), vreinterpretq_s16_s8(second.val[0]));
    const int16x8x2_t high = vzipq_s16(vreinterpretq_s16_s8(first.val[1]), vreinterpretq_s16_s8(second.val[1]));
    taps_t taps;
    taps.q0 = vreinterpretq_s8_s16(low.val[0]);
    taps.q1 = vreinterpretq_s8_s16(low.val[1]);
    taps.q2 = vreinterpretq_s8_s16(high.val[0]);
    taps.q3 = vreinterpretq_s8_s16(high.val[1]);
    return taps;
}

INLINE filters_t load_filters_16(const int8_t *w0, const int8_t *w1, const int8_t *w2, const int8_t *w3) {
    return interleaved(vld1q_s8(w0), vld1q_s8(w1), vld1q_s8(w2), vld1q_s8(w3));
}

/* Interleaves the codes of pixels in memory; all addresses are then those of the next ones. */
INLINE void keep_next_16(activation **to, const activation **x0, ptrdiff_t step0, const activation **x1, ptrdiff_t step1, const activation **x2,
                         ptrdiff_t step2, const activation **x3, ptrdiff_t step3) {
#if defined(__GNUC__) /* whose compilers would add to addresses, and copy codes to registers in a row */
    __asm__ volatile("ld1 {v28.16b}, [%1], %5\n\tld1 {v29.16b}, [%2], %6\n\tld1 {v30.16b}, [%3], %7\n\tld1 {v31.16b}, [%4], %8\n\t"
                     "st4 {v28.16b, v29.16b, v30.16b, v31.16b}, [%0], #64"
                     : "+r"(*to), "+r"(*x0), "+r"(*x1), "+r"(*x2), "+r"(*x3)
                     : "r"(step0), "r"(step1), "r"(step2), "r"(step3)
                     : "v28", "v29", "v30", "v31", "memory");
#else
    int8x16x4_t codes;
    codes.val[0] = vld1q_s8(*x0);
    codes.val[1] = vld1q_s8(*x1);
    codes.val[2] = vld1q_s8(*x2);
    codes.val[3] = vld1q_s8(*x3);
    vst4q_s8(*to, codes);
    *to += 64;
    *x0 += step0;
    *x1 += step1;
    *x2 += step2;
    *x3 += step3;
#endif
}

/* The same of three, and of what a register holds. */
INLINE void keep_next_three_16(activation **to, const activation **x0, ptrdiff_t step0, const activation **x1, ptrdiff_t step1,
                               const activation **x2, ptrdiff_t step2) {
#if defined(__GNUC__)
    __asm__ volatile("ld1 {v28.16b}, [%1], %4\n\tld1 {v29.16b}, [%2], %5\n\tld1 {v30.16b}, [%3], %6\n\t"
                     "st4 {v28.16b, v29.16b, v30.16b, v31.16b}, [%0], #64"
                     : "+r"(*to), "+r"(*x0), "+r"(*x1), "+r"(*x2)
                     : "r"(step0), "r"(step1), "r"(step2)
                     : "v28", "v29", "v30", "memory");
#else
    const activation *x3 = *x2;
    keep_next_16(to, x0, step0, x1, step1, x2, step2, &x3, step2);
#endif
}

/* Of four channels. */
typedef int32x4_t quarter_t;
typedef int8x16_t codes_t;

INLINE quarter_t add_quarter(quarter_t sum, codes_t w, codes_t x) { return vdotq_s32(sum, w, x); }

/* What lies `at` bytes from x, and what follows it. */
#if defined(__GNUC__) && !defined(__clang__) /* which would load one between other instructions, and then the other */
#define LOAD_ROWS(a, b, x, at) \
    __asm__("ldp %q0, %q1, [%2, %3]" : "=w"(a), "=w"(b) : "r"(x), "i"(at), "m"(*(const activation(*)[(at) + 32])(x)))
#else
#define LOAD_ROWS(a, b, x, at) (a) = vld1q_s8((x) + (at)), (b) = vld1q_s8((x) + (at) + 16)
#endif

/* Sums in the last bits of numbers that are FLOATING more: as float, these are what they are as integers, and subtraction takes the place of
   a conversion, of which processors begin one in two cycles. So may sums be that are less than 2^22. */
enum { FLOATING = 0x4b400000 }; /* the bits of 1.5 * 2^23 */

INLINE int may_float(sums_t bias, int32_t others) {
    const int32x4_t most = vmaxq_s32(vmaxq_s32(vqabsq_s32(bias.a), vqabsq_s32(bias.b)), vmaxq_s32(vqabsq_s32(bias.c), vqabsq_s32(bias.d)));
    return vmaxvq_s32(most) < (1 << 22) - others;
}

INLINE quarter_t more(quarter_t sum, int32_t begun) { return vaddq_s32(sum, vdupq_n_s32(begun)); }

/* What such sums end in by `rounding`, as ConvInt8 says. Computed where it stands, while the next products pass. */
typedef float32x4_t ended_t;

INLINE ended_t ended(quarter_t sum, const float *scale, float rounding) {
    const float32x4_t real = vsubq_f32(vreinterpretq_f32_s32(sum), vdupq_n_f32(12582912.0f));
    ended_t v = vaddq_f32(vmulq_f32(real, vld1q_f32(scale)), vdupq_n_f32(rounding));
#if defined(__GNUC__) && !defined(__clang__)
    __asm__ volatile("" : "+w"(v));
#endif
    return v;
}

/* The same of sums that are lifted, and ended by `end`. */
INLINE ended_t ended_lifted(quarter_t sum, const float *scale, ended_t end, float rounding) {
    ended_t v = vaddq_f32(vfmaq_f32(end, vreinterpretq_f32_s32(sum), vld1q_f32(scale)), vdupq_n_f32(rounding));
#if defined(__GNUC__) && !defined(__clang__)
    __asm__ volatile("" : "+w"(v));
#endif
    return v;
}

/* Two of them, which are ended by what lies `at` bytes from `end` and by what follows. */
#if defined(__GNUC__) && !defined(__clang__) /* which would not load both at once */
#define ENDED_LIFTED(v0, sum0, v1, sum1, scale, end, at, rounding) \
    __asm__ volatile("ldp %q0, %q1, [%2, %3]" : "=w"(v0), "=w"(v1) : "r"(end), "i"(at), "m"(*(const ended_t(*)[(at) / 16 + 2])(end))); \
    (v0) = ended_lifted(sum0, scale, v0, rounding); \
    (v1) = ended_lifted(sum1, scale, v1, rounding)
#else
#define ENDED_LIFTED(v0, sum0, v1, sum1, scale, end, at, rounding) \
    (v0) = ended_lifted(sum0, scale, (end)[(at) / 16], rounding), (v1) = ended_lifted(sum1, scale, (end)[(at) / 16 + 1], rounding)
#endif

/* The codes of eight channels; and a pixel of them and eight more. */
typedef int8x8_t half_t;

INLINE int16x8_t ends_of(ended_t a, ended_t b) { return vuzp1q_s16(vreinterpretq_s16_f32(a), vreinterpretq_s16_f32(b)); }
INLINE half_t half_of(ended_t a, ended_t b) { return vqmovn_s16(ends_of(a, b)); }
INLINE void store_halves(activation *y, half_t half, ended_t a, ended_t b) { vst1q_s8(y, vqmovn_high_s16(half, ends_of(a, b))); }

INLINE sums_t add_taps(sums_t sums, filters_t w, taps_t x) {
    sums.a = vdotq_s32(sums.a, w.q0, x.q0);
    sums.b = vdotq_s32(sums.b, w.q1, x.q1);
    sums.c = vdotq_s32(sums.c, w.q2, x.q2);
    sums.d = vdotq_s32(sums.d, w.q3, x.q3);
    return sums;
}
