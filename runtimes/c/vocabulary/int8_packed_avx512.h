/* Four registers of sums become codes at once, in one register: its quarters are theirs, in order. Packing works in quarters of 128 bits
   and saturates; the least and the largest code are bounds that it adds. Nothing past the `count` first bytes is touched. */

typedef __m512i packed_t;

/* settle() without its bounds: not a number becomes the least integer, which packing raises. */
INLINE lanes_t settle_unbound(lanes_t sum, const float *scale, ending_t e) {
    const __m512 v = shaped(_mm512_mul_ps(_mm512_cvtepi32_ps((__m512i)sum), _mm512_loadu_ps(scale)), e);
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

INLINE int any_codes(int32_t low, int32_t high) { return low == 0 && high == UINT8_MAX; }

/* Compilers take what is a constant distance from such a pointer by an address, and not by a pointer of its own. */
#if defined(__GNUC__)
#define STEADY(p) __asm__("" : "+r"(p))
#else
#define STEADY(p) (void)0
#endif

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

/* Additions to a residual r by multiples of 2^-12, which integers do as exactly as floats: a pair of the sum and the code is multiplied at once. */
typedef struct {
    __m512i multipliers, start;
} addition_t;

INLINE int is_multiple(float scale) {
    const float units = scale * 4096.0f;
    return units > -32768.0f && units < 32768.0f && (float)(int32_t)units == units;
}

INLINE addition_t addition_of(float v_scale, float r_scale, int32_t r_zero) {
    const int32_t v_units = (int32_t)(v_scale * 4096.0f), r_units = (int32_t)(r_scale * 4096.0f);
    addition_t addition;
    addition.multipliers = _mm512_set1_epi32((int32_t)(((uint32_t)r_units << 16) | ((uint32_t)v_units & 0xFFFFu)));
    addition.start = _mm512_set1_epi32(-r_zero * r_units);
    return addition;
}

/* The sums of `v`, less its zero point, and of codes of the residual. */
INLINE lanes_t add_sixteen(lanes_t v, __m128i codes, addition_t addition) {
    const __m512i upper = _mm512_setr_epi32((int)0x80008080u, (int)0x80018080u, (int)0x80028080u, (int)0x80038080u, (int)0x80048080u, (int)0x80058080u,
                                            (int)0x80068080u, (int)0x80078080u, (int)0x80088080u, (int)0x80098080u, (int)0x800A8080u, (int)0x800B8080u,
                                            (int)0x800C8080u, (int)0x800D8080u, (int)0x800E8080u, (int)0x800F8080u);
    const __m512i pairs = _mm512_mask_shuffle_epi8((__m512i)v, 0xCCCCCCCCCCCCCCCCu, _mm512_broadcast_i32x4(codes), upper);
    const __m512 sum = _mm512_cvtepi32_ps(_mm512_dpwssd_epi32(addition.start, pairs, addition.multipliers));
    return (lanes_t)_mm512_cvtps_epi32(_mm512_mul_ps(sum, _mm512_set1_ps(1.0f / 4096.0f)));
}

/* Of the residual's next 16 codes `count` are there. */
INLINE lanes_t add_codes(lanes_t v, const activation *residual, int32_t count, addition_t addition) {
    const __m128i codes = count >= 16 ? _mm_loadu_si128((const __m128i *)(const void *)residual)
                                      : _mm_maskz_loadu_epi8((__mmask16)((1u << (count > 0 ? count : 0)) - 1u), residual);
    return add_sixteen(v, codes, addition);
}
