/* Sums and products of int32 lanes. */
INLINE lanes_t lanes_splat(int32_t x) {
    lanes_t v;
    v.a = v.b = v.c = v.d = vdupq_n_s32(x);
    return v;
}

INLINE lanes_t lanes_add(lanes_t v, lanes_t w) {
    v.a = vaddq_s32(v.a, w.a);
    v.b = vaddq_s32(v.b, w.b);
    v.c = vaddq_s32(v.c, w.c);
    v.d = vaddq_s32(v.d, w.d);
    return v;
}

INLINE lanes_t lanes_multiply(lanes_t v, lanes_t w) {
    v.a = vmulq_s32(v.a, w.a);
    v.b = vmulq_s32(v.b, w.b);
    v.c = vmulq_s32(v.c, w.c);
    v.d = vmulq_s32(v.d, w.d);
    return v;
}
