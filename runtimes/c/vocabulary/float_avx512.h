/* Words for binary32 in AVX-512; float_portable.h says what they mean. */
#define FLOATS 16
typedef __m512 floats;
typedef __m512 inputs;

/* Has the line at p fetched into the second cache; there need be none. */
#define FETCH(p) _mm_prefetch((p), _MM_HINT_T1)
INLINE floats floats_load(const float *p) { return _mm512_loadu_ps(p); }
INLINE floats floats_splat(float x) { return _mm512_set1_ps(x); }
INLINE void floats_store(float *p, floats v) { _mm512_storeu_ps(p, v); }
INLINE floats floats_add(floats a, floats b) { return _mm512_add_ps(a, b); }
INLINE floats floats_subtract(floats a, floats b) { return _mm512_sub_ps(a, b); }
INLINE floats floats_multiply(floats a, floats b) { return _mm512_mul_ps(a, b); }
INLINE floats floats_divide(floats a, floats b) { return _mm512_div_ps(a, b); }
INLINE floats floats_max(floats a, floats b) { return _mm512_max_ps(a, b); }
INLINE floats floats_min(floats a, floats b) { return _mm512_min_ps(a, b); }
INLINE floats floats_at_least(floats v, floats low) { return floats_max(low, v); }
INLINE floats floats_clamp(floats v, floats low, floats high) { return floats_min(high, floats_max(low, v)); }
INLINE floats floats_where_less(floats a, floats b, floats v, floats w) { return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), w, v); }
INLINE floats floats_accumulate(floats s, floats a, floats b) { return _mm512_fmadd_ps(a, b, s); }
INLINE float floats_largest(floats v) {
    const __m256 high = _mm256_castsi256_ps(_mm512_extracti64x4_epi64(_mm512_castps_si512(v), 1)), half = _mm256_max_ps(_mm512_castps512_ps256(v), high);
    __m128 quarter = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
    quarter = _mm_max_ps(quarter, _mm_movehl_ps(quarter, quarter));
    return _mm_cvtss_f32(_mm_max_ss(quarter, _mm_movehdup_ps(quarter)));
}
INLINE floats floats_scale(floats y, floats n) { return _mm512_scalef_ps(y, n); }
INLINE inputs inputs_load(const float *p) { return _mm512_set1_ps(*p); }
#define floats_accumulate_input(s, w, x, k) floats_accumulate(s, w, x)

INLINE __mmask16 floats_mask(int32_t n) { return (__mmask16)((1u << n) - 1u); }

INLINE floats floats_load_some(const float *p, int32_t n) {
    return n >= FLOATS ? floats_load(p) : _mm512_maskz_loadu_ps(floats_mask(n), p);
}

INLINE void floats_store_some(float *p, floats v, int32_t n) {
    if (n >= FLOATS) {
        floats_store(p, v);
    } else {
        _mm512_mask_storeu_ps(p, floats_mask(n), v);
    }
}
