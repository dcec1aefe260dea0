/* Taps in memory: int8_kept_two.h says how. */

INLINE void keep_taps(activation *to, ptrdiff_t part, taps_t taps) {
    store_row(to, taps.q0);
    store_row(to + part, taps.q1);
    store_row(to + 2 * part, taps.q2);
    store_row(to + 3 * part, taps.q3);
}

INLINE taps_t kept_taps(const activation *from, ptrdiff_t part) {
    taps_t taps;
    taps.q0 = load_row(from);
    taps.q1 = load_row(from + part);
    taps.q2 = load_row(from + 2 * part);
    taps.q3 = load_row(from + 3 * part);
    return taps;
}
