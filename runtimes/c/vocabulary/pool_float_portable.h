/* Words for pooling in binary32, four lanes: every operation is one IEEE operation, denormals included, so that pools give
   the same bits on every processor (ARMv7 takes this header too: its NEON flushes denormals). */
#define REALS 4

SCALAR_BEGIN
typedef struct {
    float a, b, c, d;
} reals;
typedef reals pooled; /* of reals, as sums of them are kept */

INLINE reals reals_splat(float x) {
    reals r;
    r.a = r.b = r.c = r.d = x;
    return r;
}

/* The first n lanes (all of them when n >= REALS); nothing past them is touched. */
INLINE reals reals_load(const float *p, int32_t n) {
    reals r;
    r.a = p[0];
    r.b = n > 1 ? p[1] : 0.0f;
    r.c = n > 2 ? p[2] : 0.0f;
    r.d = n > 3 ? p[3] : 0.0f;
    return r;
}

INLINE void reals_store(float *p, reals v, int32_t n) {
    p[0] = v.a;
    if (n > 1) p[1] = v.b;
    if (n > 2) p[2] = v.c;
    if (n > 3) p[3] = v.d;
}

INLINE pooled pooled_from(float x) { return reals_splat(x); }

INLINE pooled pooled_add(pooled v, reals w) {
    v.a += w.a;
    v.b += w.b;
    v.c += w.c;
    v.d += w.d;
    return v;
}

INLINE reals pooled_divided(pooled v, pooled w) {
    v.a /= w.a;
    v.b /= w.b;
    v.c /= w.c;
    v.d /= w.d;
    return v;
}

/* v > w ? v : w */
INLINE reals reals_max(reals v, reals w) {
    v.a = v.a > w.a ? v.a : w.a;
    v.b = v.b > w.b ? v.b : w.b;
    v.c = v.c > w.c ? v.c : w.c;
    v.d = v.d > w.d ? v.d : w.d;
    return v;
}
SCALAR_END
