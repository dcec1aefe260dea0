/* Words for binary32 in SSE4.1; float_portable.h says what they mean. */
#define FLOATS 4
typedef __m128 floats;
typedef __m128 inputs;

INLINE floats floats_load(const float *p) { return _mm_loadu_ps(p); }
INLINE floats floats_splat(float x) { return _mm_set1_ps(x); }
INLINE void floats_store(float *p, floats v) { _mm_storeu_ps(p, v); }
INLINE floats floats_add(floats a, floats b) { return _mm_add_ps(a, b); }
INLINE floats floats_subtract(floats a, floats b) { return _mm_sub_ps(a, b); }
INLINE floats floats_multiply(floats a, floats b) { return _mm_mul_ps(a, b); }
INLINE floats floats_divide(floats a, floats b) { return _mm_div_ps(a, b); }
INLINE floats floats_max(floats a, floats b) { return _mm_max_ps(a, b); }
INLINE floats floats_min(floats a, floats b) { return _mm_min_ps(a, b); }
INLINE floats floats_at_least(floats v, floats low) { return floats_max(low, v); }
INLINE floats floats_clamp(floats v, floats low, floats high) { return floats_min(high, floats_max(low, v)); }
INLINE floats floats_where_less(floats a, floats b, floats v, floats w) { return _mm_blendv_ps(w, v, _mm_cmplt_ps(a, b)); }
INLINE floats floats_accumulate(floats s, floats a, floats b) { return _mm_add_ps(s, _mm_mul_ps(a, b)); }
INLINE float floats_largest(floats v) {
    v = _mm_max_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_max_ss(v, _mm_movehdup_ps(v)));
}
INLINE floats floats_scale(floats y, floats n) {
    const __m128i whole = _mm_add_epi32(_mm_cvtps_epi32(n), _mm_set1_epi32(256)), half = _mm_srai_epi32(whole, 1);
    const __m128i first = _mm_sub_epi32(half, _mm_set1_epi32(1)), second = _mm_sub_epi32(whole, _mm_add_epi32(half, _mm_set1_epi32(1)));
    y = _mm_mul_ps(y, _mm_castsi128_ps(_mm_slli_epi32(first, 23)));
    return _mm_mul_ps(y, _mm_castsi128_ps(_mm_slli_epi32(second, 23)));
}
INLINE inputs inputs_load(const float *p) { return _mm_set1_ps(*p); }
#define floats_accumulate_input(s, w, x, k) floats_accumulate(s, w, x)

INLINE floats floats_load_some(const float *p, int32_t n) {
    if (n >= FLOATS) return floats_load(p);
    return _mm_setr_ps(p[0], n > 1 ? p[1] : 0.0f, n > 2 ? p[2] : 0.0f, 0.0f);
}

INLINE void floats_store_some(float *p, floats v, int32_t n) {
    if (n >= FLOATS) {
        floats_store(p, v);
    } else {
        float lanes[FLOATS];
        floats_store(lanes, v);
        for (int32_t i = 0; i < n; i++) p[i] = lanes[i];
    }
}
