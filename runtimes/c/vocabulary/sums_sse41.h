/* Sums and products of int32 lanes. */
INLINE lanes_t lanes_splat(int32_t x) {
    lanes_t v;
    v.a = v.b = v.c = v.d = _mm_set1_epi32(x);
    return v;
}

INLINE lanes_t lanes_add(lanes_t v, lanes_t w) {
    v.a = _mm_add_epi32(v.a, w.a);
    v.b = _mm_add_epi32(v.b, w.b);
    v.c = _mm_add_epi32(v.c, w.c);
    v.d = _mm_add_epi32(v.d, w.d);
    return v;
}

INLINE lanes_t lanes_multiply(lanes_t v, lanes_t w) {
    v.a = _mm_mullo_epi32(v.a, w.a);
    v.b = _mm_mullo_epi32(v.b, w.b);
    v.c = _mm_mullo_epi32(v.c, w.c);
    v.d = _mm_mullo_epi32(v.d, w.d);
    return v;
}
