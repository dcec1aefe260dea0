/* Sums and products of int32 lanes. */
INLINE lanes_t lanes_splat(int32_t x) {
    lanes_t v;
    v.a = v.b = _mm256_set1_epi32(x);
    return v;
}

INLINE lanes_t lanes_add(lanes_t v, lanes_t w) {
    v.a = _mm256_add_epi32(v.a, w.a);
    v.b = _mm256_add_epi32(v.b, w.b);
    return v;
}

INLINE lanes_t lanes_multiply(lanes_t v, lanes_t w) {
    v.a = _mm256_mullo_epi32(v.a, w.a);
    v.b = _mm256_mullo_epi32(v.b, w.b);
    return v;
}
