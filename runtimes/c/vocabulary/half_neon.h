/* Words for binary16 in memory, in any AArch64 NEON: what is computed are floats. half_fp16.h says what they mean. */
#define HALVES 4
typedef float32x4_t halves;
typedef float32x4_t half_inputs;
typedef float32x4_t wide;

INLINE halves halves_load(const half *p) { return vcvt_f32_f16(vld1_f16((const float16_t *)p)); }
INLINE halves halves_splat(float x) { return vdupq_n_f32(x); }
INLINE void halves_store(half *p, halves v) { vst1_f16((float16_t *)p, vcvt_f16_f32(v)); }
INLINE halves halves_add(halves a, halves b) { return vaddq_f32(a, b); }
INLINE halves halves_subtract(halves a, halves b) { return vsubq_f32(a, b); }
INLINE halves halves_max(halves a, halves b) { return vmaxq_f32(a, b); }
INLINE halves halves_min(halves a, halves b) { return vminq_f32(a, b); }
INLINE halves halves_at_least(halves v, halves low) { return vmaxq_f32(v, low); }
INLINE halves halves_clamp(halves v, halves low, halves high) { return vminq_f32(vmaxq_f32(v, low), high); }
INLINE halves halves_accumulate(halves s, halves a, halves b) { return vfmaq_f32(s, a, b); }
INLINE half_inputs half_inputs_load(const half *p) { return halves_load(p); }
#define halves_accumulate_input(s, w, x, k) vfmaq_laneq_f32(s, w, x, k)

INLINE wide wide_from(float x) { return vdupq_n_f32(x); }
INLINE wide wide_divide(wide sum, wide by) { return vdivq_f32(sum, by); }
INLINE wide wide_add(wide sum, halves v) { return vaddq_f32(sum, v); }
INLINE halves wide_rounded(wide sum) { return sum; }

/* 0 while every v was finite, then NaN in its lane; and whether a lane is: of what was stored as halves on the way. */
INLINE halves halves_lost(halves found, halves v) { return vfmaq_f32(found, v, vdupq_n_f32(0.0f)); }
INLINE int halves_any_lost(halves found) { return !(vmaxvq_f32(found) == 0.0f); }

/* Sums of floats stay in their range. */
INLINE halves halves_beyond(halves found, halves v) {
    (void)v;
    return found;
}
INLINE int halves_any_beyond(halves found) {
    (void)found;
    return 0;
}
