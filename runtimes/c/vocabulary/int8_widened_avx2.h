/* Codes and weights as 16-bit numbers: sixteen in a register, which are pairs of inputs of eight channels, or eight sums. */

typedef __m256i wide_t;
typedef accumulator_t wide_sum_t;
typedef pixels_t wide_pair_t;

INLINE wide_t wide_load(const int16_t *from) { return _mm256_loadu_si256((const __m256i *)(const void *)from); }
INLINE void wide_store(int16_t *to, wide_t v) { _mm256_storeu_si256((__m256i *)(void *)to, v); }

/* Weights of eight channels for four inputs, as two pairs of inputs. */
INLINE void wide_weights(const int8_t *w, wide_t *first, wide_t *second) {
    const __m256i fours = _mm256_loadu_si256((const __m256i *)(const void *)w);
    const __m256i twos = _mm256_broadcastsi128_si256(_mm_setr_epi8(-1, 0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13));
    *first = _mm256_srai_epi16(_mm256_shuffle_epi8(fours, twos), 8);
    *second = _mm256_srai_epi16(_mm256_shuffle_epi8(_mm256_srli_epi32(fours, 16), twos), 8);
}

/* Whatever is there, or nothing: it is not read. */
INLINE void fetch_early(const int8_t *w) { _mm_prefetch((const char *)w, _MM_HINT_T0); }

/* Two inputs of a pixel, for all channels: a broadcast takes no arithmetic unit. */
INLINE wide_pair_t wide_pair(const int16_t *x) {
    int32_t two;
    memcpy(&two, x, 4);
    return _mm256_set1_epi32(two);
}

INLINE wide_sum_t wide_dot(wide_sum_t sum, wide_t w, wide_pair_t x) { return dot(sum, w, x); }

INLINE wide_sum_t sums_load(const int32_t *from) { return _mm256_loadu_si256((const __m256i *)(const void *)from); }

INLINE lanes_t sums_of(wide_sum_t a, wide_sum_t b) {
    lanes_t v;
    v.a = a;
    v.b = b;
    return v;
}

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

/* The scales of eight channels, for each of two pixels. */
INLINE void scales_of_two(float *to, const float *scale) {
    const __m256 eight = _mm256_loadu_ps(scale);
    _mm256_storeu_ps(to, eight);
    _mm256_storeu_ps(to + 8, eight);
}

INLINE __m128i load_eight(const activation *x, int32_t count) {
    activation part[8] = {0};
    if (count < 8) copy_some(part, x, count);
    return _mm_loadl_epi64((const __m128i *)(const void *)(count < 8 ? part : x));
}

/* The first `count` codes, eight at most, of each of two pixels. */
INLINE lanes_t load_eights(const activation *x0, const activation *x1, int32_t count) {
    lanes_t v;
    v.a = _mm256_cvtepu8_epi32(load_eight(x0, count));
    v.b = _mm256_cvtepu8_epi32(load_eight(x1, count));
    return v;
}

/* Of a register, the first `count` of the eight codes that are pixel `row`, a literal. */
#define store_eight(y, v, row, count) store_half_of(y, (row) < 2 ? _mm256_castsi256_si128(v) : _mm256_extracti128_si256(v, 1), (row) % 2, count)

INLINE void store_half_of(activation *y, __m128i v, int upper, int32_t count) {
    if (count < 8) {
        copy_some(y, (const activation *)(const void *)&v + 8 * upper, count);
    } else if (upper) {
        _mm_storeh_pi((__m64 *)(void *)y, _mm_castsi128_ps(v));
    } else {
        _mm_storel_epi64((__m128i *)(void *)y, v);
    }
}

INLINE lanes_t load_residual(const activation *x, int32_t count) { return load_some(x, count); }
INLINE packed_t pack_ordered(lanes_t a, lanes_t b, int32_t zero, int32_t low, int32_t high) { return pack_two(a, b, zero, low, high); }
