/* What Winograd's forms of 3x3 windows need of codes, weights and sums at their points, beyond int8_widened_avx2.h. */

enum { WIDE = 16, WIDE_REST = 4 };

INLINE wide_t wide_whole(const activation *x) { return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)x)); }

/* The first four of `count` codes, and zeros. */
INLINE wide_t wide_rest(const activation *x, int32_t count) {
    int32_t four;
    (void)count;
    memcpy(&four, x, 4);
    return _mm256_cvtepu8_epi16(_mm_cvtsi32_si128(four));
}

INLINE wide_t wide_zero(void) { return _mm256_setzero_si256(); }
INLINE wide_t wide_add(wide_t a, wide_t b) { return _mm256_add_epi16(a, b); }
INLINE wide_t wide_subtract(wide_t a, wide_t b) { return _mm256_sub_epi16(a, b); }
#define wide_left(v, bits) _mm256_slli_epi16(v, bits)
INLINE void wide_store_rest(int16_t *to, wide_t v, int32_t count) {
    (void)count;
    _mm_storel_epi64((__m128i *)(void *)to, _mm256_castsi256_si128(v));
}

INLINE wide_sum_t sums_zero(void) { return _mm256_setzero_si256(); }
INLINE void sums_store(int32_t *to, wide_sum_t v) { _mm256_storeu_si256((__m256i *)(void *)to, v); }
INLINE wide_sum_t sums_add(wide_sum_t a, wide_sum_t b) { return _mm256_add_epi32(a, b); }
INLINE wide_sum_t sums_subtract(wide_sum_t a, wide_sum_t b) { return _mm256_sub_epi32(a, b); }
#define sums_left(v, bits) _mm256_slli_epi32(v, bits)

/* A quarter of a multiple of 4. */
INLINE wide_sum_t sums_quarter(wide_sum_t v) { return _mm256_srai_epi32(v, 2); }

/* Of a multiple of 576 modulo 2^32, the 576th part, which 26 bits hold. */
INLINE wide_sum_t sums_of_576(wide_sum_t v) { return _mm256_srai_epi32(_mm256_mullo_epi32(v, _mm256_set1_epi32(954437177)), 6); }

INLINE lanes_t load_ordered(const int32_t *from) { return sums_of(sums_load(from), sums_load(from + 8)); }
INLINE void order_scales(float *to, const float *from) { memcpy(to, from, LANES * sizeof(float)); }
