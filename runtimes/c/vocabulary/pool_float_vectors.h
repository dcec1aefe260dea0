/* Words for pooling in binary32, in the float vectors of this processor (all of it IEEE); pool_float_portable.h says what they mean. */
#define REALS FLOATS
typedef floats reals;

INLINE reals reals_splat(float x) { return floats_splat(x); }
INLINE reals reals_load(const float *p, int32_t n) { return floats_load_some(p, n); }
INLINE void reals_store(float *p, reals v, int32_t n) { floats_store_some(p, v, n); }
INLINE reals reals_add(reals v, reals w) { return floats_add(v, w); }
INLINE reals reals_divide(reals v, reals w) { return floats_divide(v, w); }
INLINE reals reals_max(reals v, reals w) { return floats_max(v, w); }
