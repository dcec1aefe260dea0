/* Sixteen int8 lanes in a NEON register; bytes_portable.h says what the words mean. */
typedef int8x16_t bytes_t;

INLINE bytes_t bytes_load(const activation *p) { return vld1q_s8(p); }
INLINE void bytes_store(activation *p, bytes_t v) { vst1q_s8(p, v); }
INLINE bytes_t bytes_splat(activation q) { return vdupq_n_s8(q); }
INLINE bytes_t bytes_max(bytes_t v, bytes_t w) { return vmaxq_s8(v, w); }
INLINE bytes_t bytes_min(bytes_t v, bytes_t w) { return vminq_s8(v, w); }

/* Four that follow one another. */
#if defined(__aarch64__) && defined(__GNUC__) /* by one instruction */
typedef int8x16x4_t four_bytes_t;
INLINE four_bytes_t bytes_load_four(const activation *p) { return vld1q_s8_x4(p); }
#else
typedef struct { bytes_t val[4]; } four_bytes_t;
INLINE four_bytes_t bytes_load_four(const activation *p) {
    four_bytes_t four;
    four.val[0] = vld1q_s8(p);
    four.val[1] = vld1q_s8(p + 16);
    four.val[2] = vld1q_s8(p + 32);
    four.val[3] = vld1q_s8(p + 48);
    return four;
}
#endif
