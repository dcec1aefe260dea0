/* Depthwise sums of 64 channels of a pixel, of 32 channels of two or of 16 channels of four. Byte interleaving works in 128-bit
   quarters: register q holds channels 4 q to 4 q + 3 of each quarter's 16, and packing brings them back in order. */

typedef struct { __m512i q0, q1, q2, q3; } sums_t, scales_t;

INLINE __m512i join(__m128i a, __m128i b, __m128i c, __m128i d) {
    const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1), high = _mm256_inserti128_si256(_mm256_castsi128_si256(c), d, 1);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

INLINE __m128i load_quarter(const void *p) { return _mm_loadu_si128((const __m128i *)p); }

/* Four numbers for each quarter, whose channels begin at `b`, `c` and `d` after the first one's. */
INLINE __m512i load_quarters(const int32_t *p, int b, int c, int d) {
    return join(load_quarter(p), load_quarter(p + b), load_quarter(p + c), load_quarter(p + d));
}

INLINE sums_t load_spread(const void *p, int b, int c, int d) {
    const int32_t *from = (const int32_t *)p;
    sums_t sums;
    sums.q0 = load_quarters(from, b, c, d);
    sums.q1 = load_quarters(from + 4, b, c, d);
    sums.q2 = load_quarters(from + 8, b, c, d);
    sums.q3 = load_quarters(from + 12, b, c, d);
    return sums;
}

INLINE sums_t load_sums_64(const int32_t *bias) { return load_spread(bias, 16, 32, 48); }
INLINE sums_t load_sums_32(const int32_t *bias) { return load_spread(bias, 16, 0, 16); }
INLINE sums_t load_sums_16(const int32_t *bias) { return load_spread(bias, 0, 0, 0); }

INLINE scales_t load_scales_64(const float *scale) { return load_spread(scale, 16, 32, 48); }
INLINE scales_t load_scales_32(const float *scale) { return load_spread(scale, 16, 0, 16); }
INLINE scales_t load_scales_16(const float *scale) { return load_spread(scale, 0, 0, 0); }

INLINE __m512i load_row(const void *x) { return _mm512_loadu_si512(x); }
INLINE void store_row(void *y, __m512i row) { _mm512_storeu_si512(y, row); }

INLINE __m512i join_halves(const void *x, const void *y) {
    const __m256i low = _mm256_loadu_si256((const __m256i *)x), high = _mm256_loadu_si256((const __m256i *)y);
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

INLINE __m512i join_quarters(const void *x, const void *y, const void *z, const void *t) {
    return join(load_quarter(x), load_quarter(y), load_quarter(z), load_quarter(t));
}

/* Not a number becomes the least integer. The bounds are for requantize_row(), whose packing saturates. */
INLINE __m512i requantize_quarter(__m512i sum, __m512i scale, __m512i behind, ending_t e) {
    return _mm512_cvtps_epi32(convertible(shaped_by(_mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_castsi512_ps(scale)), _mm512_castsi512_ps(behind), e), e));
}

INLINE __m512i requantize_row(sums_t sums, scales_t scale, scales_t behind, ending_t e, int32_t zero) {
    const int32_t low = (int32_t)e.low + zero, high = (int32_t)e.high + zero;
    __m512i first = _mm512_packs_epi32(requantize_quarter(sums.q0, scale.q0, behind.q0, e), requantize_quarter(sums.q1, scale.q1, behind.q1, e));
    __m512i second = _mm512_packs_epi32(requantize_quarter(sums.q2, scale.q2, behind.q2, e), requantize_quarter(sums.q3, scale.q3, behind.q3, e));
    if (zero == 0 && low == 0 && high == UINT8_MAX) return _mm512_packus_epi16(first, second); /* as behind most Relus */
    first = _mm512_adds_epi16(first, _mm512_set1_epi16((int16_t)zero));
    second = _mm512_adds_epi16(second, _mm512_set1_epi16((int16_t)zero));
    return _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(first, second), _mm512_set1_epi8((char)low)), _mm512_set1_epi8((char)high));
}

/* behind: what the function of sums is multiplied by, in the order of scales. */
INLINE void store_shaped_64(activation *y, sums_t sums, scales_t scale, scales_t behind, ending_t e, int32_t zero) {
    _mm512_storeu_si512((void *)y, requantize_row(sums, scale, behind, e, zero));
}

INLINE void store_sums_64(activation *y, sums_t sums, scales_t scale, ending_t e, int32_t zero) {
    store_shaped_64(y, sums, scale, scale, e, zero);
}

INLINE void store_shaped_32(activation *y0, activation *y1, sums_t sums, scales_t scale, scales_t behind, ending_t e, int32_t zero) {
    const __m512i row = requantize_row(sums, scale, behind, e, zero);
    _mm256_storeu_si256((__m256i *)y0, _mm512_castsi512_si256(row));
    _mm256_storeu_si256((__m256i *)y1, _mm512_extracti64x4_epi64(row, 1));
}

INLINE void store_sums_32(activation *y0, activation *y1, sums_t sums, scales_t scale, ending_t e, int32_t zero) {
    store_shaped_32(y0, y1, sums, scale, scale, e, zero);
}

INLINE void store_shaped_16(activation *y0, activation *y1, activation *y2, activation *y3, sums_t sums, scales_t scale,
                            scales_t behind, ending_t e, int32_t zero) {
    const __m512i row = requantize_row(sums, scale, behind, e, zero);
    _mm_storeu_si128((__m128i *)y0, _mm512_castsi512_si128(row));
    _mm_storeu_si128((__m128i *)y1, _mm512_extracti32x4_epi32(row, 1));
    _mm_storeu_si128((__m128i *)y2, _mm512_extracti32x4_epi32(row, 2));
    _mm_storeu_si128((__m128i *)y3, _mm512_extracti32x4_epi32(row, 3));
}

INLINE void store_sums_16(activation *y0, activation *y1, activation *y2, activation *y3, sums_t sums, scales_t scale, ending_t e, int32_t zero) {
    store_shaped_16(y0, y1, y2, y3, sums, scale, scale, e, zero);
}
