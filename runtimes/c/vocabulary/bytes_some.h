/* The first n bytes (all of them when n >= LANES); nothing past them is touched. */
INLINE bytes_t bytes_load_some(const activation *p, int32_t n) {
    activation part[LANES] = {0};
    int32_t i;
    if (n >= LANES) return bytes_load(p);
    for (i = 0; i < n; i++) part[i] = p[i];
    return bytes_load(part);
}

INLINE void bytes_store_some(activation *p, bytes_t v, int32_t n) {
    activation part[LANES];
    int32_t i;
    if (n >= LANES) {
        bytes_store(p, v);
    } else {
        bytes_store(part, v);
        for (i = 0; i < n; i++) p[i] = part[i];
    }
}
