/* Words for binary32, one lane: the specification of the other float headers.
   accumulate(s, a, b) is s + a * b, fused or not: convolutions in float are compared with a tolerance. */
#define FLOATS 1
typedef float floats;
typedef float inputs; /* consecutive input channels of one pixel */

INLINE floats floats_load(const float *p) { return *p; }
INLINE floats floats_splat(float x) { return x; }
INLINE void floats_store(float *p, floats v) { *p = v; }
INLINE floats floats_add(floats a, floats b) { return a + b; }
INLINE floats floats_subtract(floats a, floats b) { return a - b; }
INLINE floats floats_multiply(floats a, floats b) { return a * b; }
INLINE floats floats_divide(floats a, floats b) { return a / b; }
/* a > b ? a : b and a < b ? a : b: a NaN in b is the result. */
INLINE floats floats_max(floats a, floats b) { return a > b ? a : b; }
INLINE floats floats_min(floats a, floats b) { return a < b ? a : b; }
/* The nearest number in [low, high]; NaN is NaN. */
INLINE floats floats_at_least(floats v, floats low) { return floats_max(low, v); }
INLINE floats floats_clamp(floats v, floats low, floats high) { return floats_min(high, floats_max(low, v)); }
/* v in the lanes where a < b, else w. */
INLINE floats floats_where_less(floats a, floats b, floats v, floats w) { return a < b ? v : w; }
INLINE floats floats_accumulate(floats s, floats a, floats b) { return s + a * b; }
/* The largest lane; any number where one is NaN. */
INLINE float floats_largest(floats v) { return v; }
/* y * 2^n for whole n from -127 to 128, in two factors, since 2^128 is none. */
INLINE floats floats_scale(floats y, floats n) {
    const float shifted = n + 12582912.0f;
    uint32_t bits, half;
    float first, second;
    memcpy(&bits, &shifted, sizeof bits);
    bits += 256u - 0x4b400000u;
    half = bits >> 1;
    bits = (bits - half - 1u) << 23;
    half = (half - 1u) << 23;
    memcpy(&first, &half, sizeof first);
    memcpy(&second, &bits, sizeof second);
    return (y * first) * second;
}
INLINE inputs inputs_load(const float *p) { return *p; }
#define floats_accumulate_input(s, w, x, k) floats_accumulate(s, w, x)

/* The first n lanes, 0 < n; nothing past them is touched, and lanes past them are 0. */
INLINE floats floats_load_some(const float *p, int32_t n) { (void)n; return *p; }
INLINE void floats_store_some(float *p, floats v, int32_t n) { (void)n; *p = v; }
