/* Sixteen int32 lanes in four SSE registers. Activations are widened and narrowed by their own signedness. */
enum { SIGNED_BYTES = (activation)-1 > 0 ? 0 : 1 };

INLINE __m128i widen_to_16(__m128i bytes) { return SIGNED_BYTES ? _mm_cvtepi8_epi16(bytes) : _mm_cvtepu8_epi16(bytes); }
INLINE __m128i widen_to_32(__m128i bytes) { return SIGNED_BYTES ? _mm_cvtepi8_epi32(bytes) : _mm_cvtepu8_epi32(bytes); }
INLINE __m128i narrow_to_8(__m128i low, __m128i high) { return SIGNED_BYTES ? _mm_packs_epi16(low, high) : _mm_packus_epi16(low, high); }

typedef struct { __m128i a, b, c, d; } lanes_t;

INLINE __m128i round_clamped(__m128 v, float low, float high) {
    return _mm_cvtps_epi32(_mm_min_ps(_mm_max_ps(v, _mm_set1_ps(low)), _mm_set1_ps(high)));
}

INLINE __m128i requantize_4(__m128i sum, const float *scale, ending_t e) {
    return round_clamped(shaped(_mm_mul_ps(_mm_cvtepi32_ps(sum), _mm_loadu_ps(scale)), scale, e), e.low, e.high);
}

INLINE lanes_t settle(lanes_t sum, const float *scale, ending_t e) {
    sum.a = requantize_4(sum.a, scale, e);
    sum.b = requantize_4(sum.b, scale + 4, e);
    sum.c = requantize_4(sum.c, scale + 8, e);
    sum.d = requantize_4(sum.d, scale + 12, e);
    return sum;
}

INLINE __m128i add_residual_4(__m128i v, float v_scale, __m128i r, int32_t zero, float r_scale, float low, float high) {
    const __m128 a = _mm_mul_ps(_mm_cvtepi32_ps(v), _mm_set1_ps(v_scale));
    const __m128i centred = _mm_sub_epi32(r, _mm_set1_epi32(zero));
    return round_clamped(_mm_add_ps(a, _mm_mul_ps(_mm_cvtepi32_ps(centred), _mm_set1_ps(r_scale))), low, high);
}

INLINE lanes_t add_residual(lanes_t v, float v_scale, lanes_t r, int32_t zero, float r_scale, float low, float high) {
    v.a = add_residual_4(v.a, v_scale, r.a, zero, r_scale, low, high);
    v.b = add_residual_4(v.b, v_scale, r.b, zero, r_scale, low, high);
    v.c = add_residual_4(v.c, v_scale, r.c, zero, r_scale, low, high);
    v.d = add_residual_4(v.d, v_scale, r.d, zero, r_scale, low, high);
    return v;
}

INLINE lanes_t load_lanes(const activation *x) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)x);
    lanes_t v;
    v.a = widen_to_32(bytes);
    v.b = widen_to_32(_mm_srli_si128(bytes, 4));
    v.c = widen_to_32(_mm_srli_si128(bytes, 8));
    v.d = widen_to_32(_mm_srli_si128(bytes, 12));
    return v;
}

INLINE void store_lanes(activation *y, lanes_t v, int32_t zero) {
    const __m128i offset = _mm_set1_epi32(zero);
    const __m128i low = _mm_packs_epi32(_mm_add_epi32(v.a, offset), _mm_add_epi32(v.b, offset));
    const __m128i high = _mm_packs_epi32(_mm_add_epi32(v.c, offset), _mm_add_epi32(v.d, offset));
    _mm_storeu_si128((__m128i *)y, narrow_to_8(low, high));
}

INLINE void scale_lanes(float *y, lanes_t sum, const float *scale) {
    _mm_storeu_ps(y, _mm_mul_ps(_mm_cvtepi32_ps(sum.a), _mm_loadu_ps(scale)));
    _mm_storeu_ps(y + 4, _mm_mul_ps(_mm_cvtepi32_ps(sum.b), _mm_loadu_ps(scale + 4)));
    _mm_storeu_ps(y + 8, _mm_mul_ps(_mm_cvtepi32_ps(sum.c), _mm_loadu_ps(scale + 8)));
    _mm_storeu_ps(y + 12, _mm_mul_ps(_mm_cvtepi32_ps(sum.d), _mm_loadu_ps(scale + 12)));
}
