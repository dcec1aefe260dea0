/* Words for coded weights in Helium; codes_portable.h says what they mean. */
typedef int32x4_t codes;

INLINE codes codes_part(const int8_t *panel, int v) { return vldrbq_s32(panel + 4 * v); }
INLINE floats codes_whole(codes c) { return vcvtq_f32_s32(c); }
/* As a number with 28 bits behind the point. */
INLINE floats codes_low(codes c) { return vcvtq_n_f32_s32(vshlq_n_s32(c, 28), 28); }
INLINE floats codes_high(codes c) { return vcvtq_f32_s32(vshrq_n_s32(c, 4)); }
