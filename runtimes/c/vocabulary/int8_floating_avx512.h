/* Sums that begin with 2^23 in the bits of a float: those that are not below 0, and less than 2^23, are the last bits of the float that is as
   much more than 2^23. One instruction multiplies it by a scale, takes 2^23 times the scale off, which has the scale's own bits, and rounds
   once: that is what rounding the product of the sum gives. A sum below 0 gives a number below 0, whatever it is: for codes whose least one
   and zero point are 0 that is enough. */

enum { FLOATING = 0x4B000000 }; /* the bits of 2^23 */

/* Whether sums of so many products of a code and a weight may be so, which begin with these. */
INLINE int may_float(__m512i bias, int32_t products) {
    const int32_t most = products < 256 ? (1 << 23) - products * UINT8_MAX * INT8_MAX : 0;
    return most > 0 && (_mm512_cmpgt_epi32_mask(_mm512_set1_epi32(most), bias) & _mm512_cmpgt_epi32_mask(bias, _mm512_set1_epi32(-(1 << 30)))) == 0xFFFF;
}

INLINE __m512 times_floating(__m512 scale) { return _mm512_mul_ps(scale, _mm512_set1_ps(-8388608.0f)); }

/* `less`: times_floating() of the scale. */
INLINE __m512i end_floating(__m512i sum, __m512 scale, __m512 less) { return _mm512_cvtps_epi32(_mm512_fmadd_ps(_mm512_castsi512_ps(sum), scale, less)); }

/* Of sixteen channels. */
INLINE int may_float_lanes(const int32_t *bias, int32_t products) { return may_float(_mm512_loadu_si512((const void *)bias), products); }

/* `origin`: FLOATING, or 0. */
INLINE accumulator_t start_at(const int32_t *bias, int32_t origin) {
    return (accumulator_t)_mm512_add_epi32(_mm512_loadu_si512((const void *)bias), _mm512_set1_epi32(origin));
}

INLINE lanes_t settle_floating(lanes_t sum, const float *scale) {
    const __m512 by = _mm512_loadu_ps(scale);
    return (lanes_t)end_floating((__m512i)sum, by, times_floating(by));
}

/* Of as many channels as depthwise sums have. */
INLINE int may_float_sums(sums_t bias, int32_t products) {
    return may_float(bias.q0, products) && may_float(bias.q1, products) && may_float(bias.q2, products) && may_float(bias.q3, products);
}

INLINE sums_t floating_sums(sums_t bias) {
    const __m512i first = _mm512_set1_epi32(FLOATING);
    bias.q0 = _mm512_add_epi32(bias.q0, first);
    bias.q1 = _mm512_add_epi32(bias.q1, first);
    bias.q2 = _mm512_add_epi32(bias.q2, first);
    bias.q3 = _mm512_add_epi32(bias.q3, first);
    return bias;
}

INLINE scales_t less_floating(scales_t scale) {
    scale.q0 = _mm512_castps_si512(times_floating(_mm512_castsi512_ps(scale.q0)));
    scale.q1 = _mm512_castps_si512(times_floating(_mm512_castsi512_ps(scale.q1)));
    scale.q2 = _mm512_castps_si512(times_floating(_mm512_castsi512_ps(scale.q2)));
    scale.q3 = _mm512_castps_si512(times_floating(_mm512_castsi512_ps(scale.q3)));
    return scale;
}

INLINE __m512i row_floating(sums_t sums, scales_t scale, scales_t less) {
    const __m512i a = end_floating(sums.q0, _mm512_castsi512_ps(scale.q0), _mm512_castsi512_ps(less.q0));
    const __m512i b = end_floating(sums.q1, _mm512_castsi512_ps(scale.q1), _mm512_castsi512_ps(less.q1));
    const __m512i c = end_floating(sums.q2, _mm512_castsi512_ps(scale.q2), _mm512_castsi512_ps(less.q2));
    const __m512i d = end_floating(sums.q3, _mm512_castsi512_ps(scale.q3), _mm512_castsi512_ps(less.q3));
    return _mm512_packus_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
}

INLINE void store_floating_64(activation *y, sums_t sums, scales_t scale, scales_t less) { store_row(y, row_floating(sums, scale, less)); }

INLINE void store_floating_32(activation *y0, activation *y1, sums_t sums, scales_t scale, scales_t less) {
    const __m512i row = row_floating(sums, scale, less);
    _mm256_storeu_si256((__m256i *)y0, _mm512_castsi512_si256(row));
    _mm256_storeu_si256((__m256i *)y1, _mm512_extracti64x4_epi64(row, 1));
}

INLINE void store_floating_16(activation *y0, activation *y1, activation *y2, activation *y3, sums_t sums, scales_t scale, scales_t less) {
    const __m512i row = row_floating(sums, scale, less);
    _mm_storeu_si128((__m128i *)y0, _mm512_castsi512_si128(row));
    _mm_storeu_si128((__m128i *)y1, _mm512_extracti32x4_epi32(row, 1));
    _mm_storeu_si128((__m128i *)y2, _mm512_extracti32x4_epi32(row, 2));
    _mm_storeu_si128((__m128i *)y3, _mm512_extracti32x4_epi32(row, 3));
}
