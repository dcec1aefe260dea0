/* Words for pooling in binary32, in the float vectors of this processor (all of it IEEE); pool_float_portable.h says what they mean. */
#define REALS FLOATS
typedef floats reals;
typedef floats pooled;

INLINE reals reals_splat(float x) { return floats_splat(x); }
INLINE reals reals_load(const float *p, int32_t n) { return floats_load_some(p, n); }
INLINE void reals_store(float *p, reals v, int32_t n) { floats_store_some(p, v, n); }
INLINE pooled pooled_from(float x) { return floats_splat(x); }
INLINE pooled pooled_add(pooled t, reals v) { return floats_add(t, v); }
INLINE reals pooled_divided(pooled t, pooled by) { return floats_divide(t, by); }
INLINE reals reals_max(reals v, reals w) { return floats_max(v, w); }
