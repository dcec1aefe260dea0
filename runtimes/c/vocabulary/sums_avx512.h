/* Sums and products of int32 lanes. */
INLINE lanes_t lanes_splat(int32_t x) { return (lanes_t)_mm512_set1_epi32(x); }
INLINE lanes_t lanes_add(lanes_t v, lanes_t w) { return v + w; }
INLINE lanes_t lanes_multiply(lanes_t v, lanes_t w) { return v * w; }
