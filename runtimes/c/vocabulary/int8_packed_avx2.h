/* Two pairs of registers of sums become codes at once, in one register: its halves are theirs, in order. Packing works in halves of 128 bits
   and saturates; the least and the largest code are bounds that it adds. Nothing past the `count` first bytes is touched. */

typedef __m256i packed_t;

/* settle() without its bounds: not a number becomes the least integer, which packing raises. */
INLINE lanes_t settle_unbound(lanes_t sum, const float *scale, ending_t e) {
    sum.a = _mm256_cvtps_epi32(convertible(shaped(_mm256_mul_ps(_mm256_cvtepi32_ps(sum.a), _mm256_loadu_ps(scale)), scale, e), e));
    sum.b = _mm256_cvtps_epi32(convertible(shaped(_mm256_mul_ps(_mm256_cvtepi32_ps(sum.b), _mm256_loadu_ps(scale + 8)), scale + 8, e), e));
    return sum;
}

/* Of either half of 128 bits, what the registers of a and of b hold there. */
INLINE packed_t pack_halves(lanes_t a, lanes_t b, int32_t zero, int32_t low, int32_t high) {
    const __m256i zeros = _mm256_set1_epi16((short)zero);
    const __m256i first = _mm256_adds_epi16(_mm256_packs_epi32(a.a, a.b), zeros);
    const __m256i second = _mm256_adds_epi16(_mm256_packs_epi32(b.a, b.b), zeros);
    const __m256i codes = _mm256_max_epu8(_mm256_packus_epi16(first, second), _mm256_set1_epi8((char)low));
    return _mm256_min_epu8(codes, _mm256_set1_epi8((char)high));
}

INLINE packed_t pack_two(lanes_t a, lanes_t b, int32_t zero, int32_t low, int32_t high) {
    return _mm256_permutevar8x32_epi32(pack_halves(a, b, zero, low, high), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* The same where all codes are within the bounds, and where the zero point is 0, too. */
INLINE packed_t pack_two_any(lanes_t a, lanes_t b, int32_t zero) {
    const __m256i zeros = _mm256_set1_epi16((short)zero);
    const __m256i first = _mm256_adds_epi16(_mm256_packs_epi32(a.a, a.b), zeros);
    const __m256i second = _mm256_adds_epi16(_mm256_packs_epi32(b.a, b.b), zeros);
    return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(first, second), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

INLINE packed_t pack_two_plain(lanes_t a, lanes_t b) {
    const __m256i codes = _mm256_packus_epi16(_mm256_packs_epi32(a.a, a.b), _mm256_packs_epi32(b.a, b.b));
    return _mm256_permutevar8x32_epi32(codes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
}

/* Rows of one or two panels; which of those in the register is a literal. */
#define store_packed_1(y, v, row, count) store_half(y, _mm256_extracti128_si256(v, row), count)
#define store_packed_2(y, v, row, count) store_whole(y, v, count)

INLINE void store_half(activation *y, __m128i v, int32_t count) {
    if (count >= 16) {
        _mm_storeu_si128((__m128i *)(void *)y, v);
    } else if (count == 8) {
        _mm_storel_epi64((__m128i *)(void *)y, v);
    } else {
        activation part[16];
        _mm_storeu_si128((__m128i *)(void *)part, v);
        copy_some(y, part, count);
    }
}

INLINE void store_whole(activation *y, __m256i v, int32_t count) {
    if (count >= 32) {
        _mm256_storeu_si256((__m256i *)(void *)y, v);
    } else {
        _mm_storeu_si128((__m128i *)(void *)y, _mm256_castsi256_si128(v));
        store_half(y + 16, _mm256_extracti128_si256(v, 1), count - 16);
    }
}

INLINE lanes_t load_codes(const activation *x, int32_t count) { return load_some(x, count); }
