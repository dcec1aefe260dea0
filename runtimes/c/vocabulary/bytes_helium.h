/* Sixteen int8 lanes in a Helium register; bytes_portable.h says what the words mean. */
typedef int8x16_t bytes_t;

INLINE bytes_t bytes_load(const activation *p) { return vldrbq_s8(p); }
INLINE void bytes_store(activation *p, bytes_t v) { vstrbq_s8(p, v); }
INLINE bytes_t bytes_splat(activation q) { return vdupq_n_s8(q); }
INLINE bytes_t bytes_max(bytes_t v, bytes_t w) { return vmaxq_s8(v, w); }
INLINE bytes_t bytes_min(bytes_t v, bytes_t w) { return vminq_s8(v, w); }

INLINE bytes_t bytes_load_part(const activation *p, int32_t n) { return vldrbq_z_s8(p, vctp8q((uint32_t)n)); }
INLINE void bytes_store_part(activation *p, bytes_t v, int32_t n) { vstrbq_p_s8(p, v, vctp8q((uint32_t)n)); }
