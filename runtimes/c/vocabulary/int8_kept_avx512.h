/* Taps in memory: int8_kept_avx2.h says how. */

INLINE void keep_taps(activation *to, ptrdiff_t part, taps_t taps) {
    _mm512_storeu_si512((void *)to, taps.q0);
    _mm512_storeu_si512((void *)(to + part), taps.q1);
    _mm512_storeu_si512((void *)(to + 2 * part), taps.q2);
    _mm512_storeu_si512((void *)(to + 3 * part), taps.q3);
}

INLINE taps_t kept_taps(const activation *from, ptrdiff_t part) {
    taps_t taps;
    taps.q0 = load_row(from);
    taps.q1 = load_row(from + part);
    taps.q2 = load_row(from + 2 * part);
    taps.q3 = load_row(from + 3 * part);
    return taps;
}
