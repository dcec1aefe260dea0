/* Sums and products of int32 lanes. */
INLINE lanes_t lanes_splat(int32_t x) {
    lanes_t v;
    int32_t i;
    for (i = 0; i < LANES; i++) v.lane[i] = x;
    return v;
}

INLINE lanes_t lanes_add(lanes_t v, lanes_t w) {
    int32_t i;
    for (i = 0; i < LANES; i++) v.lane[i] += w.lane[i];
    return v;
}

INLINE lanes_t lanes_multiply(lanes_t v, lanes_t w) {
    int32_t i;
    for (i = 0; i < LANES; i++) v.lane[i] *= w.lane[i];
    return v;
}
