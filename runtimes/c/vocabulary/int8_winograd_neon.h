/* Codes, weights and sums at the points of Winograd's forms of 3x3 windows: eight 16-bit numbers in a register, or four sums. Channels stay in order. */

typedef int16x8_t wide_t;
typedef int32x4_t wide_sum_t;
typedef int16x4_t wide_pair_t; /* the first two */
enum { WIDE = 8, WIDE_REST = 4 };

INLINE wide_t wide_whole(const activation *x) { return vmovl_s8(vld1_s8(x)); }

/* The first four of `count` codes, and zeros. */
INLINE wide_t wide_rest(const activation *x, int32_t count) {
    activation four[8] = {0};
    (void)count;
    memcpy(four, x, 4);
    return wide_whole(four);
}

INLINE wide_t wide_zero(void) { return vdupq_n_s16(0); }
INLINE wide_t wide_add(wide_t a, wide_t b) { return vaddq_s16(a, b); }
INLINE wide_t wide_subtract(wide_t a, wide_t b) { return vsubq_s16(a, b); }
#define wide_left(v, bits) vshlq_n_s16(v, bits)
INLINE wide_t wide_load(const int16_t *from) { return vld1q_s16(from); }
INLINE void wide_store(int16_t *to, wide_t v) { vst1q_s16(to, v); }
INLINE void wide_store_rest(int16_t *to, wide_t v, int32_t count) {
    (void)count;
    vst1_s16(to, vget_low_s16(v));
}

/* Weights of four channels for four inputs, as two pairs of inputs: of the first of a pair all channels, then of the second. */
INLINE void wide_weights(const int8_t *w, wide_t *first, wide_t *second) {
    const int16x8x2_t halves = vuzpq_s16(vmovl_s8(vld1_s8(w)), vmovl_s8(vld1_s8(w + 8)));
    const int16x8x2_t even = vuzpq_s16(halves.val[0], halves.val[0]), odd = vuzpq_s16(halves.val[1], halves.val[1]);
    *first = vcombine_s16(vget_low_s16(even.val[0]), vget_low_s16(odd.val[0]));
    *second = vcombine_s16(vget_low_s16(even.val[1]), vget_low_s16(odd.val[1]));
}

/* Two inputs of a tile, for all channels; what follows them in memory is read, too, and not used. */
INLINE wide_pair_t wide_pair(const int16_t *x) { return vld1_s16(x); }

INLINE wide_sum_t wide_dot(wide_sum_t sum, wide_t w, wide_pair_t x) {
    return add_high_products(vmlal_lane_s16(sum, vget_low_s16(w), x, 0), w, x);
}

INLINE wide_sum_t sums_zero(void) { return vdupq_n_s32(0); }
INLINE wide_sum_t sums_load(const int32_t *from) { return vld1q_s32(from); }
INLINE void sums_store(int32_t *to, wide_sum_t v) { vst1q_s32(to, v); }
INLINE wide_sum_t sums_add(wide_sum_t a, wide_sum_t b) { return vaddq_s32(a, b); }
INLINE wide_sum_t sums_subtract(wide_sum_t a, wide_sum_t b) { return vsubq_s32(a, b); }
#define sums_left(v, bits) vshlq_n_s32(v, bits)

/* A quarter of a multiple of 4. */
INLINE wide_sum_t sums_quarter(wide_sum_t v) { return vshrq_n_s32(v, 2); }

/* Of a multiple of 576 modulo 2^32, the 576th part, which 26 bits hold. */
INLINE wide_sum_t sums_of_576(wide_sum_t v) { return vshrq_n_s32(vmulq_s32(v, vdupq_n_s32(954437177)), 6); }

INLINE packed_t pack_ordered(lanes_t a, lanes_t b, int32_t zero, int32_t low, int32_t high) { return pack_two(a, b, zero, low, high); }
