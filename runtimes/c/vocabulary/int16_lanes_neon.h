/* Words for products of 16-bit codes in NEON, but for the totals; int16_portable.h says what they mean. */
typedef int16x4x2_t pairs;
typedef int16x4x2_t twos;
typedef int32x4_t sums16;

INLINE pairs pairs_load(const int8_t *w) {
    const int16x8_t mixed = vmovl_s8(vld1_s8(w));
    return vuzp_s16(vget_low_s16(mixed), vget_high_s16(mixed));
}

INLINE twos twos_load(const int16_t *x) {
    twos two;
    two.val[0] = vld1_dup_s16(x);
    two.val[1] = vld1_dup_s16(x + 1);
    return two;
}

INLINE twos twos_last(const int16_t *x) {
    twos two;
    two.val[0] = vld1_dup_s16(x);
    two.val[1] = vdup_n_s16(0);
    return two;
}

INLINE sums16 sums16_zero(void) { return vdupq_n_s32(0); }
INLINE sums16 sums16_add(sums16 sum, pairs w, twos x) {
    return vmlal_s16(vmlal_s16(sum, w.val[0], x.val[0]), w.val[1], x.val[1]);
}

INLINE sums16 sums16_each(sums16 sum, const int16_t *x, int32_t zero, const int8_t *w) {
    int32_t four;
    memcpy(&four, w, sizeof four);
    const int16x8_t weights = vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four)));
    return vmlaq_s32(sum, vsubq_s32(vmovl_s16(vld1_s16(x)), vdupq_n_s32(zero)), vmovl_s16(vget_low_s16(weights)));
}
