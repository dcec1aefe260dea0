/* Words that follow from an int8 vocabulary's own: partial panels never touch a byte past a pixel's channels. */

INLINE void store_some(activation *y, lanes_t v, int32_t zero, int32_t count) {
    if (count >= LANES) {
        store_lanes(y, v, zero);
    } else {
        activation part[LANES];
        int32_t i;
        store_lanes(part, v, zero);
        for (i = 0; i < count; i++) y[i] = part[i];
    }
}

INLINE lanes_t load_some(const activation *x, int32_t count) {
    activation part[LANES] = {0};
    int32_t i;
    if (count >= LANES) return load_lanes(x);
    for (i = 0; i < count; i++) part[i] = x[i];
    return load_lanes(part);
}
