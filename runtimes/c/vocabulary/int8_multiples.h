/* Additions to a residual by multiples of 2^-12, which integers do as exactly as floats: a pair of the sum and of the residual's code, of
   16 bits each, is multiplied at once. */

INLINE int is_multiple(float scale) {
    const float units = scale * 4096.0f;
    return units > -32768.0f && units < 32768.0f && (float)(int32_t)units == units;
}

/* Both scales, that of the sum lower. */
INLINE int32_t pair_of_scales(float v_scale, float r_scale) {
    return (int32_t)(((uint32_t)(int32_t)(r_scale * 4096.0f) << 16) | ((uint32_t)(int32_t)(v_scale * 4096.0f) & 0xFFFFu));
}

/* What a sum of products begins with, for a residual whose zero point is not 0. */
INLINE int32_t start_of_pairs(float r_scale, int32_t r_zero) { return -r_zero * (int32_t)(r_scale * 4096.0f); }

INLINE int any_codes(int32_t low, int32_t high) { return low == 0 && high == UINT8_MAX; }

/* Compilers take what is a constant distance from such a pointer by an address, and not by a pointer of its own. */
#if defined(__GNUC__)
#define STEADY(p) __asm__("" : "+r"(p))
#else
#define STEADY(p) (void)0
#endif
