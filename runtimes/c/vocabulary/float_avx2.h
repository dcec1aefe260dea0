/* Words for binary32 in AVX2 with FMA; float_portable.h says what they mean. */
#define FLOATS 8
typedef __m256 floats;
typedef __m256 inputs;

/* Has the line at p fetched into the second cache; there need be none. */
#define FETCH(p) _mm_prefetch((p), _MM_HINT_T1)
INLINE floats floats_load(const float *p) { return _mm256_loadu_ps(p); }
INLINE floats floats_splat(float x) { return _mm256_set1_ps(x); }
INLINE void floats_store(float *p, floats v) { _mm256_storeu_ps(p, v); }
INLINE floats floats_add(floats a, floats b) { return _mm256_add_ps(a, b); }
INLINE floats floats_subtract(floats a, floats b) { return _mm256_sub_ps(a, b); }
INLINE floats floats_multiply(floats a, floats b) { return _mm256_mul_ps(a, b); }
INLINE floats floats_divide(floats a, floats b) { return _mm256_div_ps(a, b); }
INLINE floats floats_max(floats a, floats b) { return _mm256_max_ps(a, b); }
INLINE floats floats_min(floats a, floats b) { return _mm256_min_ps(a, b); }
INLINE floats floats_at_least(floats v, floats low) { return floats_max(low, v); }
INLINE floats floats_clamp(floats v, floats low, floats high) { return floats_min(high, floats_max(low, v)); }
INLINE floats floats_where_less(floats a, floats b, floats v, floats w) { return _mm256_blendv_ps(w, v, _mm256_cmp_ps(a, b, _CMP_LT_OQ)); }
INLINE floats floats_accumulate(floats s, floats a, floats b) { return _mm256_fmadd_ps(a, b, s); }
INLINE float floats_largest(floats v) {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_movehdup_ps(half)));
}
INLINE floats floats_scale(floats y, floats n) {
    const __m256i whole = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(256)), half = _mm256_srai_epi32(whole, 1);
    const __m256i first = _mm256_sub_epi32(half, _mm256_set1_epi32(1)), second = _mm256_sub_epi32(whole, _mm256_add_epi32(half, _mm256_set1_epi32(1)));
    y = _mm256_mul_ps(y, _mm256_castsi256_ps(_mm256_slli_epi32(first, 23)));
    return _mm256_mul_ps(y, _mm256_castsi256_ps(_mm256_slli_epi32(second, 23)));
}
INLINE inputs inputs_load(const float *p) { return _mm256_broadcast_ss(p); }
#define floats_accumulate_input(s, w, x, k) floats_accumulate(s, w, x)

INLINE __m256i floats_mask(int32_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

INLINE floats floats_load_some(const float *p, int32_t n) {
    return n >= FLOATS ? floats_load(p) : _mm256_maskload_ps(p, floats_mask(n));
}

INLINE void floats_store_some(float *p, floats v, int32_t n) {
    if (n >= FLOATS) {
        floats_store(p, v);
    } else {
        _mm256_maskstore_ps(p, floats_mask(n), v);
    }
}
