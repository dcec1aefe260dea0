/* Words for pooling of halves, which are added up as floats; pool_float_portable.h says what they mean. */
#define HALF_REALS HALVES
typedef halves half_reals;
typedef wide half_pooled;

INLINE half_reals half_reals_splat(float x) { return halves_splat(x); }
INLINE half_reals half_reals_load(const half *p, int32_t n) { return halves_load_some(p, n); }
INLINE void half_reals_store(half *p, half_reals v, int32_t n) { halves_store_some(p, v, n); }
INLINE half_reals half_reals_max(half_reals v, half_reals w) { return halves_max(v, w); }
INLINE half_pooled half_pooled_from(float x) { return wide_from(x); }
INLINE half_pooled half_pooled_add(half_pooled t, half_reals v) { return wide_add(t, v); }
INLINE half_reals half_pooled_divided(half_pooled t, half_pooled by) { return wide_rounded(wide_divide(t, by)); }
