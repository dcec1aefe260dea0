/* Words of Winograd for codes where a register holds four sums. */
INLINE lanes_t sums_of(wide_sum_t a, wide_sum_t b, wide_sum_t c, wide_sum_t d) {
    lanes_t v;
    v.a = a;
    v.b = b;
    v.c = c;
    v.d = d;
    return v;
}

INLINE lanes_t load_ordered(const int32_t *from) {
    return sums_of(sums_load(from), sums_load(from + 4), sums_load(from + 8), sums_load(from + 12));
}

INLINE void order_scales(float *to, const float *from) { memcpy(to, from, LANES * sizeof(float)); }

INLINE lanes_t load_residual(const activation *x, int32_t count) { return load_some(x, count); }
