/* Depthwise words: two taps of a channel are a pair of 16-bit numbers for pmaddwd. */

typedef lanes_t sums_t;
typedef struct { __m128i a, b, c, d; } filters_t;
typedef struct { __m128i low, high; } taps_t; /* pairs of bytes */
typedef const float *scales_t;

INLINE __m128i load_row(const void *x) { return _mm_loadu_si128((const __m128i *)x); }
INLINE void store_row(void *y, __m128i row) { _mm_storeu_si128((__m128i *)y, row); }

INLINE sums_t load_sums_16(const int32_t *bias) {
    sums_t sums;
    sums.a = _mm_loadu_si128((const __m128i *)bias);
    sums.b = _mm_loadu_si128((const __m128i *)(bias + 4));
    sums.c = _mm_loadu_si128((const __m128i *)(bias + 8));
    sums.d = _mm_loadu_si128((const __m128i *)(bias + 12));
    return sums;
}

INLINE filters_t load_filters_16(const int8_t *w0, const int8_t *w1) {
    const __m128i first = _mm_loadu_si128((const __m128i *)w0), second = _mm_loadu_si128((const __m128i *)w1);
    const __m128i low = _mm_unpacklo_epi8(first, second), high = _mm_unpackhi_epi8(first, second);
    filters_t filters;
    filters.a = _mm_cvtepi8_epi16(low);
    filters.b = _mm_cvtepi8_epi16(_mm_srli_si128(low, 8));
    filters.c = _mm_cvtepi8_epi16(high);
    filters.d = _mm_cvtepi8_epi16(_mm_srli_si128(high, 8));
    return filters;
}

INLINE taps_t load_taps_16(const activation *x0, const activation *x1) {
    const __m128i first = _mm_loadu_si128((const __m128i *)x0), second = _mm_loadu_si128((const __m128i *)x1);
    taps_t taps;
    taps.low = _mm_unpacklo_epi8(first, second);
    taps.high = _mm_unpackhi_epi8(first, second);
    return taps;
}

/* The upper eight bytes as 16-bit numbers. */
INLINE __m128i widen_upper(__m128i bytes) {
    return SIGNED_BYTES ? _mm_srai_epi16(_mm_unpackhi_epi8(bytes, bytes), 8) : _mm_unpackhi_epi8(bytes, _mm_setzero_si128());
}

/* gcc would compute the products of all taps first, and keep them in memory until they are added. */
#if !defined(ADDED) && defined(__GNUC__) && !defined(__clang__)
#define ADDED(sum) __asm__("" : "+x"(sum))
#elif !defined(ADDED)
#define ADDED(sum)
#endif

INLINE sums_t add_taps(sums_t sums, filters_t w, taps_t x) {
    sums.a = _mm_add_epi32(sums.a, _mm_madd_epi16(w.a, widen_to_16(x.low)));
    sums.b = _mm_add_epi32(sums.b, _mm_madd_epi16(w.b, widen_upper(x.low)));
    sums.c = _mm_add_epi32(sums.c, _mm_madd_epi16(w.c, widen_to_16(x.high)));
    sums.d = _mm_add_epi32(sums.d, _mm_madd_epi16(w.d, widen_upper(x.high)));
    ADDED(sums.a);
    ADDED(sums.b);
    ADDED(sums.c);
    ADDED(sums.d);
    return sums;
}

INLINE scales_t load_scales_16(const float *scale) { return scale; }

INLINE void store_sums_16(activation *y, sums_t sums, scales_t scale, ending_t e, int32_t zero) {
    store_lanes(y, settle(sums, scale, e), zero);
}
