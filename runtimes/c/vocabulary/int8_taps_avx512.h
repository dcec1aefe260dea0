/* Depthwise words: four taps of a channel are the four bytes of a lane for vpdpbusd. */

typedef sums_t filters_t, taps_t;

/* Bytes of four rows: the four bytes of a column become a lane. */
INLINE taps_t interleave(__m512i a, __m512i b, __m512i c, __m512i d) {
    const __m512i low_ab = _mm512_unpacklo_epi8(a, b), low_cd = _mm512_unpacklo_epi8(c, d);
    const __m512i high_ab = _mm512_unpackhi_epi8(a, b), high_cd = _mm512_unpackhi_epi8(c, d);
    taps_t taps;
    taps.q0 = _mm512_unpacklo_epi16(low_ab, low_cd);
    taps.q1 = _mm512_unpackhi_epi16(low_ab, low_cd);
    taps.q2 = _mm512_unpacklo_epi16(high_ab, high_cd);
    taps.q3 = _mm512_unpackhi_epi16(high_ab, high_cd);
    return taps;
}

INLINE filters_t load_filters_64(const int8_t *w0, const int8_t *w1, const int8_t *w2, const int8_t *w3) {
    return interleave(load_row(w0), load_row(w1), load_row(w2), load_row(w3));
}

INLINE taps_t load_taps_64(const activation *x0, const activation *x1, const activation *x2, const activation *x3) {
    return interleave(load_row(x0), load_row(x1), load_row(x2), load_row(x3));
}

INLINE filters_t load_filters_32(const int8_t *w0, const int8_t *w1, const int8_t *w2, const int8_t *w3) {
    return interleave(join_halves(w0, w0), join_halves(w1, w1), join_halves(w2, w2), join_halves(w3, w3));
}

INLINE taps_t load_taps_32(const activation *x0, const activation *y0, const activation *x1, const activation *y1,
                          const activation *x2, const activation *y2, const activation *x3, const activation *y3) {
    return interleave(join_halves(x0, y0), join_halves(x1, y1), join_halves(x2, y2), join_halves(x3, y3));
}

INLINE filters_t load_filters_16(const int8_t *w0, const int8_t *w1, const int8_t *w2, const int8_t *w3) {
    return interleave(join_quarters(w0, w0, w0, w0), join_quarters(w1, w1, w1, w1), join_quarters(w2, w2, w2, w2),
                      join_quarters(w3, w3, w3, w3));
}

INLINE taps_t load_taps_16(const activation *x0, const activation *y0, const activation *z0, const activation *t0,
                          const activation *x1, const activation *y1, const activation *z1, const activation *t1,
                          const activation *x2, const activation *y2, const activation *z2, const activation *t2,
                          const activation *x3, const activation *y3, const activation *z3, const activation *t3) {
    return interleave(join_quarters(x0, y0, z0, t0), join_quarters(x1, y1, z1, t1), join_quarters(x2, y2, z2, t2),
                      join_quarters(x3, y3, z3, t3));
}

INLINE sums_t add_taps(sums_t sums, filters_t w, taps_t x) {
    sums.q0 = _mm512_dpbusd_epi32(sums.q0, x.q0, w.q0);
    sums.q1 = _mm512_dpbusd_epi32(sums.q1, x.q1, w.q1);
    sums.q2 = _mm512_dpbusd_epi32(sums.q2, x.q2, w.q2);
    sums.q3 = _mm512_dpbusd_epi32(sums.q3, x.q3, w.q3);
    return sums;
}
