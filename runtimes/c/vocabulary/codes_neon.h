/* Words for coded weights in NEON; codes_portable.h says what they mean. */
typedef int32x4_t codes;

/* Loads all 16 bytes: for the four vectors of a panel that happens once. */
INLINE codes codes_part(const int8_t *panel, int v) {
    const int8x16_t whole = vld1q_s8(panel);
    const int16x8_t half = vmovl_s8(v < 2 ? vget_low_s8(whole) : vget_high_s8(whole));
    return vmovl_s16(v % 2 ? vget_high_s16(half) : vget_low_s16(half));
}

INLINE floats codes_whole(codes c) { return vcvtq_f32_s32(c); }
/* As a number with 28 bits behind the point. */
INLINE floats codes_low(codes c) { return vcvtq_n_f32_s32(vshlq_n_s32(c, 28), 28); }
INLINE floats codes_high(codes c) { return vcvtq_f32_s32(vshrq_n_s32(c, 4)); }
