/* Depthwise words: four taps of a channel are the four bytes of a lane for vpdpbusd. */

typedef lanes_t filters_t, taps_t;

INLINE lanes_t load_sums(const int32_t *bias) { return (lanes_t)_mm512_loadu_si512((const void *)bias); }

/* 16 bytes from each of four rows: the four bytes of a column become a lane. */
INLINE lanes_t interleave(const void *r0, const void *r1, const void *r2, const void *r3) {
    const __m512i groups = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    const __m512i columns = _mm512_broadcast_i32x4(_mm_set_epi8(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0));
    __m512i rows = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)r0));
    rows = _mm512_inserti32x4(rows, _mm_loadu_si128((const __m128i *)r1), 1);
    rows = _mm512_inserti32x4(rows, _mm_loadu_si128((const __m128i *)r2), 2);
    rows = _mm512_inserti32x4(rows, _mm_loadu_si128((const __m128i *)r3), 3);
    return (lanes_t)_mm512_shuffle_epi8(_mm512_permutexvar_epi32(groups, rows), columns);
}

INLINE filters_t load_filters(const int8_t *w0, const int8_t *w1, const int8_t *w2, const int8_t *w3) {
    return interleave(w0, w1, w2, w3);
}

INLINE taps_t load_taps(const activation *x0, const activation *x1, const activation *x2, const activation *x3) {
    return interleave(x0, x1, x2, x3);
}

INLINE lanes_t add_taps(lanes_t sums, filters_t w, taps_t x) {
    return (lanes_t)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)x, (__m512i)w);
}
