/* Taps in memory: int8_kept_avx2.h says how. */

INLINE void keep_taps(activation *to, ptrdiff_t part, taps_t taps) {
    _mm_storeu_si128((__m128i *)to, taps.low);
    _mm_storeu_si128((__m128i *)(to + part), taps.high);
}

INLINE taps_t kept_taps(const activation *from, ptrdiff_t part) {
    taps_t taps;
    taps.low = _mm_loadu_si128((const __m128i *)from);
    taps.high = _mm_loadu_si128((const __m128i *)(from + part));
    return taps;
}
