/* Four registers of sums become codes at once, in one register: its quarters are theirs, in order. Packing works in quarters of 128 bits
   and saturates; the least and the largest code are bounds that it adds. Nothing past the `count` first bytes is touched. */

typedef __m512i packed_t;

/* settle() without its bounds: not a number becomes the least integer, which packing raises. */
INLINE lanes_t settle_unbound(lanes_t sum, const float *scale, ending_t e) {
    const __m512 v = shaped(_mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)sum), _mm512_loadu_ps(scale)), scale, e);
    return (lanes_t)_mm512_cvtps_epi32(convertible(v, e));
}

INLINE packed_t in_order(__m512i quarters) {
    return _mm512_permutexvar_epi32(_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), quarters);
}

INLINE __m512i packed_quarters(lanes_t a, lanes_t b, lanes_t c, lanes_t d, int32_t zero) {
    const __m512i zeros = _mm512_set1_epi16((short)zero);
    const __m512i first = _mm512_adds_epi16(_mm512_packs_epi32((__m512i)a, (__m512i)b), zeros);
    return _mm512_packus_epi16(first, _mm512_adds_epi16(_mm512_packs_epi32((__m512i)c, (__m512i)d), zeros));
}

INLINE packed_t pack_four(lanes_t a, lanes_t b, lanes_t c, lanes_t d, int32_t zero, int32_t low, int32_t high) {
    const __m512i codes = _mm512_max_epu8(packed_quarters(a, b, c, d, zero), _mm512_set1_epi8((char)low));
    return in_order(_mm512_min_epu8(codes, _mm512_set1_epi8((char)high)));
}

/* The same where all codes are within the bounds, and where the zero point is 0, too. */
INLINE packed_t pack_four_any(lanes_t a, lanes_t b, lanes_t c, lanes_t d, int32_t zero) { return in_order(packed_quarters(a, b, c, d, zero)); }

INLINE packed_t pack_four_plain(lanes_t a, lanes_t b, lanes_t c, lanes_t d) {
    const __m512i first = _mm512_packs_epi32((__m512i)a, (__m512i)b);
    return in_order(_mm512_packus_epi16(first, _mm512_packs_epi32((__m512i)c, (__m512i)d)));
}

/* Rows of one, two or four panels; which of those in the register is a literal. */
#define store_packed_1(y, v, row, count) store_quarter(y, _mm512_extracti32x4_epi32(v, row), count)
#define store_packed_2(y, v, row, count) store_half(y, _mm512_extracti64x4_epi64(v, row), count)
#define store_packed_3(y, v, row, count) store_whole(y, v, smaller(count, 48))
#define store_packed_4(y, v, row, count) store_whole(y, v, count)

INLINE void store_quarter(activation *y, __m128i v, int32_t count) {
    if (count >= 16) {
        _mm_storeu_si128((__m128i *)(void *)y, v);
    } else {
        _mm_mask_storeu_epi8(y, (__mmask16)((1u << count) - 1u), v);
    }
}

INLINE void store_half(activation *y, __m256i v, int32_t count) {
    if (count >= 32) {
        _mm256_storeu_si256((__m256i *)(void *)y, v);
    } else {
        _mm256_mask_storeu_epi8(y, (__mmask32)((1u << count) - 1u), v);
    }
}

INLINE void store_whole(activation *y, __m512i v, int32_t count) {
    if (count >= 64) {
        _mm512_storeu_si512((void *)y, v);
    } else {
        _mm512_mask_storeu_epi8(y, (__mmask64)(((uint64_t)1 << count) - 1), v);
    }
}

INLINE lanes_t load_codes(const activation *x, int32_t count) {
    const __mmask16 mask = (__mmask16)(count >= 16 ? 0xFFFFu : (1u << count) - 1u);
    return (lanes_t)_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(mask, x));
}
