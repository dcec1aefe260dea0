/* Sixteen 8-bit lanes, of the activations' own signedness, in plain C: the specification of the other bytes headers. */
typedef struct { activation lane[LANES]; } bytes_t;

INLINE bytes_t bytes_load(const activation *p) {
    bytes_t v;
    memcpy(v.lane, p, sizeof v.lane);
    return v;
}

INLINE void bytes_store(activation *p, bytes_t v) { memcpy(p, v.lane, sizeof v.lane); }

INLINE bytes_t bytes_splat(activation q) {
    bytes_t v;
    int32_t i;
    for (i = 0; i < LANES; i++) v.lane[i] = q;
    return v;
}

INLINE bytes_t bytes_max(bytes_t v, bytes_t w) {
    int32_t i;
    for (i = 0; i < LANES; i++) v.lane[i] = v.lane[i] > w.lane[i] ? v.lane[i] : w.lane[i];
    return v;
}

INLINE bytes_t bytes_min(bytes_t v, bytes_t w) {
    int32_t i;
    for (i = 0; i < LANES; i++) v.lane[i] = v.lane[i] < w.lane[i] ? v.lane[i] : w.lane[i];
    return v;
}

/* 8 <= n < LANES bytes, in lanes from which bytes_store_part puts them back: the first eight and the last, which may have some in common. */
INLINE bytes_t bytes_load_part(const activation *p, int32_t n) {
    bytes_t v;
    memcpy(v.lane, p, LANES / 2);
    memcpy(v.lane + LANES / 2, p + n - LANES / 2, LANES / 2);
    return v;
}

INLINE void bytes_store_part(activation *p, bytes_t v, int32_t n) {
    memcpy(p, v.lane, LANES / 2);
    memcpy(p + n - LANES / 2, v.lane + LANES / 2, LANES / 2);
}
