/* Words for binary32 in ARMv7 NEON, which flushes denormals; float_portable.h says what they mean. */
#define FLOATS 4
typedef float32x4_t floats;
typedef float32x4_t inputs;

INLINE floats floats_load(const float *p) { return vld1q_f32(p); }
INLINE floats floats_splat(float x) { return vdupq_n_f32(x); }
INLINE void floats_store(float *p, floats v) { vst1q_f32(p, v); }
INLINE floats floats_add(floats a, floats b) { return vaddq_f32(a, b); }
INLINE floats floats_subtract(floats a, floats b) { return vsubq_f32(a, b); }
INLINE floats floats_multiply(floats a, floats b) { return vmulq_f32(a, b); }
INLINE floats floats_divide(floats a, floats b) {
    float x[FLOATS], y[FLOATS];
    int32_t i;
    vst1q_f32(x, a), vst1q_f32(y, b);
    for (i = 0; i < FLOATS; i++) x[i] /= y[i];
    return vld1q_f32(x);
}
INLINE floats floats_max(floats a, floats b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
INLINE floats floats_min(floats a, floats b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
INLINE floats floats_at_least(floats v, floats low) { return vmaxq_f32(v, low); }
INLINE floats floats_clamp(floats v, floats low, floats high) { return vminq_f32(vmaxq_f32(v, low), high); }
INLINE floats floats_where_less(floats a, floats b, floats v, floats w) { return vbslq_f32(vcltq_f32(a, b), v, w); }
INLINE floats floats_accumulate(floats s, floats a, floats b) { return vmlaq_f32(s, a, b); }
INLINE float floats_largest(floats v) {
    const float32x2_t pair = vmax_f32(vget_low_f32(v), vget_high_f32(v));
    return vget_lane_f32(vpmax_f32(pair, pair), 0);
}
INLINE floats floats_scale(floats y, floats n) {
    const int32x4_t whole = vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(256)), half = vshrq_n_s32(whole, 1);
    const int32x4_t first = vsubq_s32(half, vdupq_n_s32(1)), second = vsubq_s32(whole, vaddq_s32(half, vdupq_n_s32(1)));
    y = vmulq_f32(y, vreinterpretq_f32_s32(vshlq_n_s32(first, 23)));
    return vmulq_f32(y, vreinterpretq_f32_s32(vshlq_n_s32(second, 23)));
}
/* Lanes that multiply lie in the lower half of the registers, where gcc would copy them anew for each product. */
INLINE inputs inputs_load(const float *p) {
    inputs x = vld1q_f32(p);
#if defined(__GNUC__) && !defined(__clang__)
    __asm__("" : "+t"(x));
#endif
    return x;
}
/* A macro, since the lane k must be a constant without optimization too. */
#define floats_accumulate_input(s, w, x, k) vmlaq_lane_f32(s, w, (k) < 2 ? vget_low_f32(x) : vget_high_f32(x), (k) & 1)
/* As in float_neon.h. One instruction loads a pair of neighbouring registers and moves p, but only from there: gcc would compute each address. */
#if defined(__GNUC__) && !defined(__clang__)
struct held_inputs { float lanes[FLOATS]; };
struct held_pair { float lanes[2 * FLOATS]; };
#define HELD(s, number) register floats s __asm__("q" #number)
#define HOLD(s) __asm__ volatile("" : "+w"(s))
#define NEXT_INPUTS(x, p, k) __asm__ volatile("vld1.32 {%e0-%f0}, [%1]!" : "=t"(x), "+r"(p) : "m"(*(const struct held_inputs *)(const void *)(p)))
#define NEXT_INPUT(p, k) (*(p)++)
#define NEXT_FROM(p, k) (p)
#define HELD_PAIR(a, b, first, second) HELD(a, first); HELD(b, second)
#define NEXT_PAIR(a, b, p, step) \
    __asm__ volatile("vld1.32 {%e0-%f1}, [%2], %3" : "=w"(a), "=w"(b), "+r"(p) : "r"((step) * sizeof(float)), "m"(*(const struct held_pair *)(const void *)(p)))
#else
#define HELD(s, number) floats s
#define HOLD(s) (void)0
#define HELD_PAIR(a, b, first, second) floats a, b
#define NEXT_PAIR(a, b, p, step) (a) = floats_load(p), (b) = floats_load((p) + FLOATS), (p) += (step)
#define NEXT_INPUTS(x, p, k) (x) = inputs_load((p) + (k))
#define NEXT_INPUT(p, k) (p)[k]
#define NEXT_FROM(p, k) ((p) + (k))
#endif

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
