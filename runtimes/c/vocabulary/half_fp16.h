/* Words for binary16 in AArch64 NEON with arithmetic of halves: those of float_portable.h for halves, of the same names but for that.
   Where a or b is NaN, so is their max or min. */
#define HALVES 8
typedef float16x8_t halves;
typedef float16x8_t half_inputs;

/* Sums of halves, as floats. */
typedef struct {
    float32x4_t low, high;
} wide;

INLINE halves halves_load(const half *p) { return vld1q_f16((const float16_t *)p); }
INLINE halves halves_splat(float16_t x) { return vdupq_n_f16(x); }
INLINE void halves_store(half *p, halves v) { vst1q_f16((float16_t *)p, v); }
INLINE halves halves_add(halves a, halves b) { return vaddq_f16(a, b); }
INLINE halves halves_subtract(halves a, halves b) { return vsubq_f16(a, b); }
INLINE halves halves_max(halves a, halves b) { return vmaxq_f16(a, b); }
INLINE halves halves_min(halves a, halves b) { return vminq_f16(a, b); }
INLINE halves halves_at_least(halves v, halves low) { return vmaxq_f16(v, low); }
INLINE halves halves_clamp(halves v, halves low, halves high) { return vminq_f16(vmaxq_f16(v, low), high); }
INLINE halves halves_accumulate(halves s, halves a, halves b) { return vfmaq_f16(s, a, b); }
INLINE half_inputs half_inputs_load(const half *p) { return vld1q_f16((const float16_t *)p); }
#if defined(__GNUC__) && !defined(__clang__)
/* gcc (12 to 15) copies the lane into a vector of its own first. */
#define HALVES_BY_LANE(k) \
    INLINE halves halves_accumulate_input_##k(halves s, halves w, half_inputs x) { \
        __asm__("fmla %0.8h, %1.8h, %2.h[" #k "]" : "+w"(s) : "w"(w), "x"(x)); \
        return s; \
    }
INLINE halves halves_times_first(halves w, half_inputs x) {
    halves product;
    __asm__("fmul %0.8h, %1.8h, %2.h[0]" : "=w"(product) : "w"(w), "x"(x));
    return product;
}
#else
INLINE halves halves_times_first(halves w, half_inputs x) { return vmulq_laneq_f16(w, x, 0); }
#define HALVES_BY_LANE(k) \
    INLINE halves halves_accumulate_input_##k(halves s, halves w, half_inputs x) { return vfmaq_laneq_f16(s, w, x, k); }
#endif
HALVES_BY_LANE(0)
HALVES_BY_LANE(1)
HALVES_BY_LANE(2)
HALVES_BY_LANE(3)
HALVES_BY_LANE(4)
HALVES_BY_LANE(5)
HALVES_BY_LANE(6)
HALVES_BY_LANE(7)
#define halves_accumulate_input(s, w, x, k) halves_accumulate_input_##k(s, w, x)

/* As in float_neon.h. */
#if defined(__GNUC__) && !defined(__clang__)
#define HALF_HELD(s, number) register halves s __asm__("v" #number)
#define HALF_HOLD(s) __asm__("" : "+w"(s))
struct held_four_halves {
    half lanes[32];
};
#define HALF_NEXT_FOUR(a, b, c, d, p) \
    __asm__("ld1 {%0.8h-%3.8h}, [%4], #64" : "=w"(a), "=w"(b), "=w"(c), "=w"(d), "+r"(p) : "m"(*(const struct held_four_halves *)(const void *)(p)))
struct held_half_inputs {
    half lanes[8];
};
#define HALF_NEXT_INPUTS(x, p, k) __asm__("ldr %q0, [%1], #16" : "=w"(x), "+r"(p) : "m"(*(const struct held_half_inputs *)(const void *)(p)))
#define HALF_NEXT_INPUT(p, k) (*(p)++)
#define HALF_NEXT_FROM(p, k) (p)
#define HALF_NEXT_ROW(p, step, a, b) \
    __asm__ volatile("st1 {%1.8h-%2.8h}, [%0], %3" : "+r"(p) : "w"(a), "w"(b), "r"((step) * (ptrdiff_t)sizeof(half)) : "memory")
#else
#define HALF_NEXT_ROW(p, step, a, b) halves_store(p, a), halves_store((p) + 8, b), (p) += (step)
#define HALF_HELD(s, number) halves s
#define HALF_HOLD(s) (void)0
#define HALF_NEXT_FOUR(a, b, c, d, p) \
    (a) = halves_load(p), (b) = halves_load((p) + 8), (c) = halves_load((p) + 16), (d) = halves_load((p) + 24), (p) += 32
#define HALF_NEXT_INPUTS(x, p, k) (x) = half_inputs_load((p) + (k))
#define HALF_NEXT_INPUT(p, k) (p)[k]
#define HALF_NEXT_FROM(p, k) ((p) + (k))
#endif
#define HALF_HELD_PAIR(a, b, first, second) halves a, b
#define HALF_NEXT_PAIR(a, b, p, step) (a) = halves_load(p), (b) = halves_load((p) + HALVES), (p) += (step)

INLINE wide wide_from(float x) {
    const wide all = {vdupq_n_f32(x), vdupq_n_f32(x)};
    return all;
}

INLINE wide wide_divide(wide sum, wide by) {
    sum.low = vdivq_f32(sum.low, by.low);
    sum.high = vdivq_f32(sum.high, by.high);
    return sum;
}

INLINE wide wide_add(wide sum, halves v) {
    sum.low = vaddq_f32(sum.low, vcvt_f32_f16(vget_low_f16(v)));
    sum.high = vaddq_f32(sum.high, vcvt_high_f32_f16(v));
    return sum;
}

INLINE halves wide_rounded(wide sum) { return vcvt_high_f16_f32(vcvt_f16_f32(sum.low), sum.high); }

/* 0 while every v was finite, then NaN in its lane; and whether a lane is. */
INLINE halves halves_beyond(halves found, halves v) { return vfmaq_f16(found, v, vdupq_n_f16(0)); }
INLINE int halves_any_beyond(halves found) { return !(vmaxvq_f16(found) == 0); }
#define halves_lost halves_beyond
#define halves_any_lost halves_any_beyond
