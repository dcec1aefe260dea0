/* Codes, weights and sums at the points of Winograd's forms of 3x3 windows: 32 16-bit numbers in a register, or 16 sums. Channels stay in
   order. */

typedef __m512i wide_t;
typedef accumulator_t wide_sum_t;
typedef pixels_t wide_pair_t;
enum { WIDE = 32, WIDE_REST = 32 };

INLINE __mmask32 wide_mask(int32_t count) { return (__mmask32)(count < WIDE ? (1u << count) - 1u : 0xFFFFFFFFu); }
INLINE wide_t wide_whole(const activation *x) { return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)x)); }
INLINE wide_t wide_rest(const activation *x, int32_t count) { return _mm512_cvtepu8_epi16(_mm256_maskz_loadu_epi8(wide_mask(count), x)); }
INLINE wide_t wide_zero(void) { return _mm512_setzero_si512(); }
INLINE wide_t wide_add(wide_t a, wide_t b) { return _mm512_add_epi16(a, b); }
INLINE wide_t wide_subtract(wide_t a, wide_t b) { return _mm512_sub_epi16(a, b); }
#define wide_left(v, bits) _mm512_slli_epi16(v, bits)
INLINE wide_t wide_load(const int16_t *from) { return _mm512_loadu_si512((const void *)from); }
INLINE void wide_store(int16_t *to, wide_t v) { _mm512_storeu_si512((void *)to, v); }
INLINE void wide_store_rest(int16_t *to, wide_t v, int32_t count) { _mm512_mask_storeu_epi16(to, wide_mask(count), v); }

/* Weights of 16 channels for four inputs, as two pairs of inputs. */
INLINE void wide_weights(const int8_t *w, wide_t *first, wide_t *second) {
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i a = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)w));
    const __m512i b = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)(const void *)(w + 32)));
    *first = _mm512_permutex2var_epi32(a, even, b);
    *second = _mm512_permutex2var_epi32(a, _mm512_add_epi32(even, _mm512_set1_epi32(1)), b);
}

/* Two inputs of a tile, for all channels. */
INLINE wide_pair_t wide_pair(const int16_t *x) {
    int32_t two;
    memcpy(&two, x, 4);
    return (wide_pair_t)_mm512_set1_epi32(two);
}

INLINE wide_sum_t wide_dot(wide_sum_t sum, wide_t w, wide_pair_t x) {
    return (wide_sum_t)_mm512_dpwssd_epi32((__m512i)sum, w, (__m512i)x);
}

INLINE wide_sum_t sums_zero(void) { return (wide_sum_t)_mm512_setzero_si512(); }
INLINE wide_sum_t sums_load(const int32_t *from) { return (wide_sum_t)_mm512_loadu_si512((const void *)from); }
INLINE void sums_store(int32_t *to, wide_sum_t v) { _mm512_storeu_si512((void *)to, (__m512i)v); }
INLINE wide_sum_t sums_add(wide_sum_t a, wide_sum_t b) { return (wide_sum_t)_mm512_add_epi32((__m512i)a, (__m512i)b); }
INLINE wide_sum_t sums_subtract(wide_sum_t a, wide_sum_t b) { return (wide_sum_t)_mm512_sub_epi32((__m512i)a, (__m512i)b); }
#define sums_left(v, bits) ((wide_sum_t)_mm512_slli_epi32((__m512i)(v), bits))

/* Of a multiple of 576 modulo 2^32, the 576th part, which 26 bits hold. */
INLINE wide_sum_t sums_of_576(wide_sum_t v) {
    return (wide_sum_t)_mm512_srai_epi32(_mm512_mullo_epi32((__m512i)v, _mm512_set1_epi32(954437177)), 6);
}

INLINE lanes_t sums_of(wide_sum_t v) { return v; }
INLINE lanes_t load_ordered(const int32_t *from) { return sums_load(from); }
INLINE void order_scales(float *to, const float *from) { memcpy(to, from, LANES * sizeof(float)); }
INLINE lanes_t load_residual(const activation *x, int32_t count) { return load_codes(x, count); }

INLINE packed_t pack_ordered(lanes_t a, lanes_t b, int32_t zero, int32_t low, int32_t high) {
    return pack_four(a, b, a, b, zero, low, high);
}
