/* Words for binary32 in AArch64 NEON; float_portable.h says what they mean. */
#define FLOATS 4
typedef float32x4_t floats;
typedef float32x4_t inputs;

INLINE floats floats_load(const float *p) { return vld1q_f32(p); }
INLINE floats floats_splat(float x) { return vdupq_n_f32(x); }
INLINE void floats_store(float *p, floats v) { vst1q_f32(p, v); }
INLINE floats floats_add(floats a, floats b) { return vaddq_f32(a, b); }
INLINE floats floats_subtract(floats a, floats b) { return vsubq_f32(a, b); }
INLINE floats floats_multiply(floats a, floats b) { return vmulq_f32(a, b); }
INLINE floats floats_divide(floats a, floats b) { return vdivq_f32(a, b); }
INLINE floats floats_max(floats a, floats b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
INLINE floats floats_min(floats a, floats b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
INLINE floats floats_at_least(floats v, floats low) { return vmaxq_f32(v, low); }
INLINE floats floats_clamp(floats v, floats low, floats high) { return vminq_f32(vmaxq_f32(v, low), high); }
INLINE floats floats_where_less(floats a, floats b, floats v, floats w) { return vbslq_f32(vcltq_f32(a, b), v, w); }
INLINE floats floats_accumulate(floats s, floats a, floats b) { return vfmaq_f32(s, a, b); }
INLINE float floats_largest(floats v) { return vmaxvq_f32(v); }
INLINE floats floats_scale(floats y, floats n) {
    const int32x4_t whole = vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(256)), half = vshrq_n_s32(whole, 1);
    const int32x4_t first = vsubq_s32(half, vdupq_n_s32(1)), second = vsubq_s32(whole, vaddq_s32(half, vdupq_n_s32(1)));
    y = vmulq_f32(y, vreinterpretq_f32_s32(vshlq_n_s32(first, 23)));
    return vmulq_f32(y, vreinterpretq_f32_s32(vshlq_n_s32(second, 23)));
}
INLINE inputs inputs_load(const float *p) { return vld1q_f32(p); }
/* A macro, since the lane k must be a constant without optimization too. */
#define floats_accumulate_input(s, w, x, k) vfmaq_laneq_f32(s, w, x, k)
/* A sum in a register of its own. gcc moves sums that take most registers to and fro, and keeps some in memory, unless it is told where they are. */
#if defined(__GNUC__) && !defined(__clang__)
#define HELD(s, number) register floats s __asm__("v" #number)
#define HOLD(s) __asm__("" : "+w"(s))
struct held_four {
    float lanes[16];
};
/* Four vectors, in registers one after the other, from p on, which then is behind them. */
#define NEXT_FOUR(a, b, c, d, p) \
    __asm__("ld1 {%0.4s-%3.4s}, [%4], #64" : "=w"(a), "=w"(b), "=w"(c), "=w"(d), "+r"(p) : "m"(*(const struct held_four *)(const void *)(p)))
/* Stores four at p, which then is `step` further on. */
#define NEXT_ROW(p, step, a, b, c, d) \
    __asm__ volatile("st1 {%1.4s-%4.4s}, [%0], %5" : "+r"(p) : "w"(a), "w"(b), "w"(c), "w"(d), "r"((step) * (ptrdiff_t)sizeof(float)) : "memory")
#else
#define NEXT_ROW(p, step, a, b, c, d) \
    floats_store(p, a), floats_store((p) + 4, b), floats_store((p) + 8, c), floats_store((p) + 12, d), (p) += (step)
#define HELD(s, number) floats s
#define HOLD(s) (void)0
#define NEXT_FOUR(a, b, c, d, p) \
    (a) = floats_load(p), (b) = floats_load((p) + 4), (c) = floats_load((p) + 8), (d) = floats_load((p) + 12), (p) += 16
#endif
/* Two vectors, and how they are loaded from p, which then is `step` further on. What is k inputs further on than p was at first, the one
   input there, and where that is; other vocabularies move p to what is behind. */
#define HELD_PAIR(a, b, first, second) floats a, b
#define NEXT_PAIR(a, b, p, step) (a) = floats_load(p), (b) = floats_load((p) + FLOATS), (p) += (step)
#define NEXT_INPUTS(x, p, k) (x) = inputs_load((p) + (k))
#define NEXT_INPUT(p, k) (p)[k]
#define NEXT_FROM(p, k) ((p) + (k))

INLINE floats floats_load_some(const float *p, int32_t n) {
    if (n >= FLOATS) return floats_load(p);
    floats v = vld1q_lane_f32(p, vdupq_n_f32(0.0f), 0);
    if (n > 1) v = vld1q_lane_f32(p + 1, v, 1);
    if (n > 2) v = vld1q_lane_f32(p + 2, v, 2);
    return v;
}

INLINE void floats_store_some(float *p, floats v, int32_t n) {
    if (n >= FLOATS) {
        floats_store(p, v);
    } else {
        vst1q_lane_f32(p, v, 0);
        if (n > 1) vst1q_lane_f32(p + 1, v, 1);
        if (n > 2) vst1q_lane_f32(p + 2, v, 2);
    }
}
