/* Requantization of one number. */

/* rint of a float of magnitude below 2^22, by the rounding of an addition. */
INLINE int32_t round_even(float v) {
    const float magic = 12582912.0f; /* 1.5 * 2^23 */
    return (int32_t)((v + magic) - magic);
}

INLINE float clamp_float(float v, float low, float high) {
    v = v > low ? v : low;
    return v < high ? v : high;
}

INLINE activation requantize_one(int32_t sum, float scale, int32_t low, int32_t high, int32_t zero) {
    return (activation)(round_even(clamp_float((float)sum * scale, (float)(low - zero), (float)(high - zero))) + zero);
}
