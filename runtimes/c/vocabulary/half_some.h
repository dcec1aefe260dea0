/* The first n halves of a vector, in the words of the sets. */
INLINE halves halves_load_some(const half *p, int32_t n) {
    half lanes[HALVES] = {0};
    if (n >= HALVES) return halves_load(p);
    memcpy(lanes, p, (size_t)n * sizeof lanes[0]);
    return halves_load(lanes);
}

INLINE void halves_store_some(half *p, halves v, int32_t n) {
    half lanes[HALVES];
    if (n >= HALVES) {
        halves_store(p, v);
    } else {
        halves_store(lanes, v);
        memcpy(p, lanes, (size_t)n * sizeof lanes[0]);
    }
}
