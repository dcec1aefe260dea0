/* Sixteen int8 lanes in a NEON register; bytes_portable.h says what the words mean. */
typedef int8x16_t bytes_t;

INLINE bytes_t bytes_load(const activation *p) { return vld1q_s8(p); }
INLINE void bytes_store(activation *p, bytes_t v) { vst1q_s8(p, v); }
INLINE bytes_t bytes_splat(activation q) { return vdupq_n_s8(q); }
INLINE bytes_t bytes_max(bytes_t v, bytes_t w) { return vmaxq_s8(v, w); }
INLINE bytes_t bytes_min(bytes_t v, bytes_t w) { return vminq_s8(v, w); }
INLINE bytes_t bytes_load_part(const activation *p, int32_t n) { return vcombine_s8(vld1_s8(p), vld1_s8(p + n - 8)); }
INLINE void bytes_store_part(activation *p, bytes_t v, int32_t n) {
    vst1_s8(p, vget_low_s8(v));
    vst1_s8(p + n - 8, vget_high_s8(v));
}

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

/* A column of three rows of which pools take the maximum, of 64 channels or of 16; all addresses are then those of the next column. */
typedef struct { bytes_t a, b, c, d; } column_4_t;
typedef struct { bytes_t a; } column_1_t;
#if defined(__aarch64__) && defined(__GNUC__) /* whose compilers would add to addresses, and copy what is loaded to registers in a row */
INLINE column_4_t next_column_4(const activation **x0, const activation **x1, const activation **x2, ptrdiff_t step) {
    column_4_t most;
    __asm__ volatile("ld1 {v20.16b, v21.16b, v22.16b, v23.16b}, [%4], %7\n\tld1 {v24.16b, v25.16b, v26.16b, v27.16b}, [%5], %7\n\t"
                     "ld1 {v28.16b, v29.16b, v30.16b, v31.16b}, [%6], %7\n\t"
                     "smax v20.16b, v20.16b, v24.16b\n\tsmax v21.16b, v21.16b, v25.16b\n\t"
                     "smax v22.16b, v22.16b, v26.16b\n\tsmax v23.16b, v23.16b, v27.16b\n\t"
                     "smax %0.16b, v20.16b, v28.16b\n\tsmax %1.16b, v21.16b, v29.16b\n\t"
                     "smax %2.16b, v22.16b, v30.16b\n\tsmax %3.16b, v23.16b, v31.16b"
                     : "=w"(most.a), "=w"(most.b), "=w"(most.c), "=w"(most.d), "+r"(*x0), "+r"(*x1), "+r"(*x2)
                     : "r"(step)
                     : "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "memory");
    return most;
}
INLINE column_1_t next_column_1(const activation **x0, const activation **x1, const activation **x2, ptrdiff_t step) {
    column_1_t most;
    __asm__ volatile("ld1 {v29.16b}, [%1], %4\n\tld1 {v30.16b}, [%2], %4\n\tld1 {v31.16b}, [%3], %4\n\t"
                     "smax v29.16b, v29.16b, v30.16b\n\tsmax %0.16b, v29.16b, v31.16b"
                     : "=w"(most.a), "+r"(*x0), "+r"(*x1), "+r"(*x2)
                     : "r"(step)
                     : "v29", "v30", "v31", "memory");
    return most;
}
#else
INLINE bytes_t bytes_max_three(const activation *x0, const activation *x1, const activation *x2) {
    return bytes_max(bytes_max(bytes_load(x0), bytes_load(x1)), bytes_load(x2));
}
INLINE column_1_t next_column_1(const activation **x0, const activation **x1, const activation **x2, ptrdiff_t step) {
    column_1_t most;
    most.a = bytes_max_three(*x0, *x1, *x2);
    *x0 += step;
    *x1 += step;
    *x2 += step;
    return most;
}
INLINE column_4_t next_column_4(const activation **x0, const activation **x1, const activation **x2, ptrdiff_t step) {
    column_4_t most;
    most.b = bytes_max_three(*x0 + 16, *x1 + 16, *x2 + 16);
    most.c = bytes_max_three(*x0 + 32, *x1 + 32, *x2 + 32);
    most.d = bytes_max_three(*x0 + 48, *x1 + 48, *x2 + 48);
    most.a = next_column_1(x0, x1, x2, step).a;
    return most;
}
#endif
