/* Codes as 16-bit numbers in memory: four of a pixel's fill a register by a broadcast, which takes no arithmetic unit. */

INLINE pixels_t wide_pixels(const int16_t *x) { return _mm256_broadcastq_epi64(_mm_loadl_epi64((const __m128i *)(const void *)x)); }

/* `count` codes, a multiple of 4. */
INLINE void widen_codes(int16_t *to, const activation *from, int32_t count) {
    int32_t i = 0;
    for (; i <= count - 16; i += 16) {
        const __m128i codes = _mm_loadu_si128((const __m128i *)(const void *)(from + i));
        _mm256_storeu_si256((__m256i *)(void *)(to + i), _mm256_cvtepu8_epi16(codes));
    }
    for (; i < count; i += 4) {
        int32_t four;
        memcpy(&four, from + i, 4);
        _mm_storel_epi64((__m128i *)(void *)(to + i), _mm_cvtepu8_epi16(_mm_cvtsi32_si128(four)));
    }
}

/* Sums of 16 channels lie in memory as additions of neighbours leave them, in halves of 128 bits: of each 8, pairs 0, 2, 1 and 3. Scales and
   residuals are brought into that order, and packing brings the codes back. */
INLINE void store_sums(int32_t *to, accumulator_t a, accumulator_t b) { _mm256_storeu_si256((__m256i *)(void *)to, _mm256_hadd_epi32(a, b)); }

INLINE lanes_t load_sums(const int32_t *from) {
    lanes_t v;
    v.a = _mm256_loadu_si256((const __m256i *)(const void *)from);
    v.b = _mm256_loadu_si256((const __m256i *)(const void *)(from + 8));
    return v;
}

INLINE lanes_t load_ordered(const int32_t *from) {
    lanes_t v = load_sums(from);
    v.a = _mm256_permute4x64_epi64(v.a, 0xD8);
    v.b = _mm256_permute4x64_epi64(v.b, 0xD8);
    return v;
}

INLINE void order_scales(float *to, const float *from) {
    const lanes_t v = load_ordered((const int32_t *)(const void *)from);
    _mm256_storeu_si256((__m256i *)(void *)to, v.a);
    _mm256_storeu_si256((__m256i *)(void *)(to + 8), v.b);
}

INLINE lanes_t load_residual(const activation *x, int32_t count) {
    activation part[16] = {0};
    __m128i codes;
    lanes_t v;
    if (count < 16) copy_some(part, x, count);
    codes = _mm_loadu_si128((const __m128i *)(const void *)(count < 16 ? part : x));
    codes = _mm_shufflehi_epi16(_mm_shufflelo_epi16(codes, 0xD8), 0xD8);
    v.a = _mm256_cvtepu8_epi32(codes);
    v.b = _mm256_cvtepu8_epi32(_mm_srli_si128(codes, 8));
    return v;
}

INLINE packed_t pack_ordered(lanes_t a, lanes_t b, int32_t zero, int32_t low, int32_t high) {
    const __m256i order = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    return _mm256_shuffle_epi8(_mm256_permute4x64_epi64(pack_halves(a, b, zero, low, high), 0xD8), order);
}
