/* Codes, weights and sums at the points of Winograd's forms of 3x3 windows: eight 16-bit numbers in a register, or four sums. Channels stay in order. */

typedef __m128i wide_t;
typedef accumulator_t wide_sum_t;
typedef pixels_t wide_pair_t;
enum { WIDE = 8, WIDE_REST = 4 };

INLINE wide_t wide_whole(const activation *x) { return widen_to_16(_mm_loadl_epi64((const __m128i *)(const void *)x)); }

/* The first four of `count` codes, and zeros. */
INLINE wide_t wide_rest(const activation *x, int32_t count) {
    int32_t four;
    (void)count;
    memcpy(&four, x, 4);
    return widen_to_16(_mm_cvtsi32_si128(four));
}

INLINE wide_t wide_zero(void) { return _mm_setzero_si128(); }
INLINE wide_t wide_add(wide_t a, wide_t b) { return _mm_add_epi16(a, b); }
INLINE wide_t wide_subtract(wide_t a, wide_t b) { return _mm_sub_epi16(a, b); }
#define wide_left(v, bits) _mm_slli_epi16(v, bits)
INLINE wide_t wide_load(const int16_t *from) { return _mm_loadu_si128((const __m128i *)(const void *)from); }
INLINE void wide_store(int16_t *to, wide_t v) { _mm_storeu_si128((__m128i *)(void *)to, v); }
INLINE void wide_store_rest(int16_t *to, wide_t v, int32_t count) {
    (void)count;
    _mm_storel_epi64((__m128i *)(void *)to, v);
}

/* Weights of four channels for four inputs, as two pairs of inputs. */
INLINE void wide_weights(const int8_t *w, wide_t *first, wide_t *second) {
    const __m128 a = _mm_castsi128_ps(load_weights(w)), b = _mm_castsi128_ps(load_weights(w + 8));
    *first = _mm_castps_si128(_mm_shuffle_ps(a, b, 0x88));
    *second = _mm_castps_si128(_mm_shuffle_ps(a, b, 0xDD));
}

/* Two inputs of a tile, for all channels. */
INLINE wide_pair_t wide_pair(const int16_t *x) {
    int32_t two;
    memcpy(&two, x, 4);
    return _mm_set1_epi32(two);
}

INLINE wide_sum_t wide_dot(wide_sum_t sum, wide_t w, wide_pair_t x) { return dot(sum, w, x); }

INLINE wide_sum_t sums_zero(void) { return _mm_setzero_si128(); }
INLINE wide_sum_t sums_load(const int32_t *from) { return _mm_loadu_si128((const __m128i *)(const void *)from); }
INLINE void sums_store(int32_t *to, wide_sum_t v) { _mm_storeu_si128((__m128i *)(void *)to, v); }
INLINE wide_sum_t sums_add(wide_sum_t a, wide_sum_t b) { return _mm_add_epi32(a, b); }
INLINE wide_sum_t sums_subtract(wide_sum_t a, wide_sum_t b) { return _mm_sub_epi32(a, b); }
#define sums_left(v, bits) _mm_slli_epi32(v, bits)

/* A quarter of a multiple of 4. */
INLINE wide_sum_t sums_quarter(wide_sum_t v) { return _mm_srai_epi32(v, 2); }

/* Of a multiple of 576 modulo 2^32, the 576th part, which 26 bits hold. */
INLINE wide_sum_t sums_of_576(wide_sum_t v) { return _mm_srai_epi32(_mm_mullo_epi32(v, _mm_set1_epi32(954437177)), 6); }

/* The codes of two pixels. */
typedef struct { __m128i first, second; } packed_t;

INLINE lanes_t settle_unbound(lanes_t sum, const float *scale, ending_t e) { return settle(sum, scale, e); }

INLINE __m128i pack_one(lanes_t v, int32_t zero) {
    activation codes[LANES];
    store_lanes(codes, v, zero);
    return _mm_loadu_si128((const __m128i *)(const void *)codes);
}

INLINE packed_t pack_ordered(lanes_t a, lanes_t b, int32_t zero, int32_t low, int32_t high) {
    packed_t v;
    (void)low; /* settle_unbound() keeps to them */
    (void)high;
    v.first = pack_one(a, zero);
    v.second = pack_one(b, zero);
    return v;
}

#define store_packed_1(y, v, row, count) store_codes(y, (row) ? (v).second : (v).first, count)

INLINE void store_codes(activation *y, __m128i v, int32_t count) {
    activation part[LANES];
    _mm_storeu_si128((__m128i *)(void *)(count < LANES ? part : y), v);
    if (count < LANES) copy_some(y, part, count);
}
