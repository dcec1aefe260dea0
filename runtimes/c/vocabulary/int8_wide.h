/* dot for weights of -128 to 127: here dot itself takes them. */
INLINE accumulator_t dot_wide(accumulator_t sum, weights_t w, pixels_t x) { return dot(sum, w, x); }
