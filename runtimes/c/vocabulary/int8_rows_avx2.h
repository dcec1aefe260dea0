/* Depthwise sums of 32 channels of a pixel, or of 16 channels of two. Byte interleaving works in 128-bit halves: register q holds
   channels 4 q to 4 q + 3 of each half's 16, and packing brings them back in order. */

typedef struct { __m256i q0, q1, q2, q3; } sums_t, scales_t;

/* Four numbers for each half: those at `p`, and those `apart` further. */
INLINE __m256i load_halves(const void *p, int apart) {
    const __m128i low = _mm_loadu_si128((const __m128i *)p), high = _mm_loadu_si128((const __m128i *)((const int32_t *)p + apart));
    return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
}

INLINE sums_t load_spread(const void *p, int apart) {
    const int32_t *from = (const int32_t *)p;
    sums_t sums;
    sums.q0 = load_halves(from, apart);
    sums.q1 = load_halves(from + 4, apart);
    sums.q2 = load_halves(from + 8, apart);
    sums.q3 = load_halves(from + 12, apart);
    return sums;
}

INLINE sums_t load_sums_32(const int32_t *bias) { return load_spread(bias, 16); }
INLINE sums_t load_sums_16(const int32_t *bias) { return load_spread(bias, 0); }

INLINE scales_t load_scales_32(const float *scale) { return load_spread(scale, 16); }
INLINE scales_t load_scales_16(const float *scale) { return load_spread(scale, 0); }

INLINE __m256i load_row(const void *x) { return _mm256_loadu_si256((const __m256i *)x); }
INLINE void store_row(void *y, __m256i row) { _mm256_storeu_si256((__m256i *)y, row); }

INLINE __m256i join_rows(const void *x, const void *y) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)x)), _mm_loadu_si128((const __m128i *)y), 1);
}

/* Not a number becomes the least integer. The bounds are for requantize_row(), whose packing saturates. */
INLINE __m256i requantize_quarter(__m256i sum, __m256i scale, __m256i behind, ending_t e) {
    return _mm256_cvtps_epi32(convertible(shaped_by(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), _mm256_castsi256_ps(scale)), _mm256_castsi256_ps(behind), e), e));
}

INLINE __m256i requantize_row(sums_t sums, scales_t scale, scales_t behind, ending_t e, int32_t zero) {
    const __m256i offset = _mm256_set1_epi16((int16_t)zero);
    const __m256i first = _mm256_packs_epi32(requantize_quarter(sums.q0, scale.q0, behind.q0, e), requantize_quarter(sums.q1, scale.q1, behind.q1, e));
    const __m256i second = _mm256_packs_epi32(requantize_quarter(sums.q2, scale.q2, behind.q2, e), requantize_quarter(sums.q3, scale.q3, behind.q3, e));
    const __m256i codes = _mm256_packus_epi16(_mm256_adds_epi16(first, offset), _mm256_adds_epi16(second, offset));
    const __m256i low = _mm256_set1_epi8((char)((int32_t)e.low + zero)), high = _mm256_set1_epi8((char)((int32_t)e.high + zero));
    return _mm256_min_epu8(_mm256_max_epu8(codes, low), high);
}

/* behind: what the function of sums is multiplied by, in the order of scales. */
INLINE void store_shaped_32(activation *y, sums_t sums, scales_t scale, scales_t behind, ending_t e, int32_t zero) {
    _mm256_storeu_si256((__m256i *)y, requantize_row(sums, scale, behind, e, zero));
}

INLINE void store_sums_32(activation *y, sums_t sums, scales_t scale, ending_t e, int32_t zero) {
    store_shaped_32(y, sums, scale, scale, e, zero);
}

INLINE void store_shaped_16(activation *y0, activation *y1, sums_t sums, scales_t scale, scales_t behind, ending_t e, int32_t zero) {
    const __m256i row = requantize_row(sums, scale, behind, e, zero);
    _mm_storeu_si128((__m128i *)y0, _mm256_castsi256_si128(row));
    _mm_storeu_si128((__m128i *)y1, _mm256_extracti128_si256(row, 1));
}

INLINE void store_sums_16(activation *y0, activation *y1, sums_t sums, scales_t scale, ending_t e, int32_t zero) {
    store_shaped_16(y0, y1, sums, scale, scale, e, zero);
}
