/* Up to 8 channels beside a whole panel: a register sums them of two steps of inputs, those of the first in even lanes, and of two pixels
   they end in one register, those of the first in even lanes. */

INLINE accumulator_t start_tail(const int32_t *bias) {
    return (accumulator_t)_mm512_cvtepu32_epi64(_mm256_loadu_si256((const __m256i *)(const void *)bias));
}

/* The weights of a step and of the next one, `further` codes after them. */
INLINE weights_t load_tails(const int8_t *w, int further) {
    const __m512i order = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    return (weights_t)_mm512_permutex2var_epi32(_mm512_loadu_si512((const void *)w), order, _mm512_loadu_si512((const void *)(w + further)));
}

INLINE pixels_t load_two_pixels(const activation *x) {
    long long eight;
    memcpy(&eight, x, 8);
    return (pixels_t)_mm512_set1_epi64(eight);
}

INLINE void scales_of_tails(float *twice, const float *scale) {
    const __m512i order = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    _mm512_storeu_ps(twice, _mm512_permutexvar_ps(order, _mm512_loadu_ps(scale)));
}

INLINE lanes_t collect_tails(accumulator_t a, accumulator_t b) {
    const __m512i first = _mm512_mask_blend_epi32(0xAAAA, (__m512i)a, (__m512i)b), second = _mm512_mask_blend_epi32(0xAAAA, (__m512i)b, (__m512i)a);
    return (lanes_t)_mm512_add_epi32(first, _mm512_shuffle_epi32(second, _MM_PERM_CDAB));
}

/* add_codes() for two pixels. */
INLINE lanes_t add_tails(lanes_t v, const activation *first, const activation *second, int32_t count, addition_t addition) {
    const __mmask16 some = (__mmask16)((1u << count) - 1u);
    const __m128i codes = _mm_unpacklo_epi8(_mm_maskz_loadu_epi8(some, first), _mm_maskz_loadu_epi8(some, second));
    return add_sixteen(v, codes, addition);
}

/* The codes of eight pixels, eight of each. */
INLINE void pack_tails(activation *codes, lanes_t a, lanes_t b, lanes_t c, lanes_t d, int32_t zero) {
    const __m512i near = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15));
    const __m512i order = _mm512_set_epi16(31, 23, 15, 7, 30, 22, 14, 6, 29, 21, 13, 5, 28, 20, 12, 4, 27, 19, 11, 3, 26, 18, 10, 2, 25, 17, 9, 1, 24, 16, 8, 0);
    const __m512i pairs = _mm512_shuffle_epi8(packed_quarters(a, b, c, d, zero), near);
    _mm512_storeu_si512((void *)codes, _mm512_permutexvar_epi16(order, pairs));
}

INLINE void store_tail(activation *y, const activation *codes, int32_t count) {
    if (count == 8) {
        memcpy(y, codes, 8);
    } else {
        _mm_mask_storeu_epi8(y, (__mmask16)((1u << count) - 1u), _mm_loadl_epi64((const __m128i *)(const void *)codes));
    }
}
