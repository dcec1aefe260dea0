/* Rows of codes that are normalized, in plain C.

   square_lanes     sum + v * v, exactly.
   normalize_lanes  clamp(rint(fl32(fl32(fl32((fl32(v) * count - sum) * factor) * scale) + offset)), low, high); what is in the inner
                    parentheses is a whole number below 2^24. */
INLINE lanes_t square_lanes(lanes_t sum, lanes_t v) {
    int i;
    for (i = 0; i < LANES; i++) sum.lane[i] += v.lane[i] * v.lane[i];
    return sum;
}

INLINE lanes_t normalize_lanes(lanes_t v, float count, float sum, float factor, const float *scale, const float *offset, float low,
                               float high) {
    int i;
    for (i = 0; i < LANES; i++) {
        const float apart = ((float)v.lane[i] * count - sum) * factor, scaled = apart * scale[i];
        v.lane[i] = round_even(clamp_float(scaled + offset[i], low, high));
    }
    return v;
}
