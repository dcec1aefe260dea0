/* immintrin.h for a processor without AVX-512: SIMDe (Debian: libsimde-dev), and what it lacks. */
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/fma.h>
#define _mm256_dpbusd_avx_epi32 simde_mm256_dpbusd_epi32
/* What SIMDe lacks, a lane at a time. */
#include <math.h>
#ifndef __mmask16
#define __mmask16 simde__mmask16
#endif
typedef union { int32_t i[16]; float f[16]; simde__m512i vi; simde__m512 vf; } lanes_512;
typedef union { uint8_t b[16]; simde__m128i v; } lanes_128;
static inline simde__m512 masked_load(unsigned mask, const float *p) {
    lanes_512 v;
    for (int i = 0; i < 16; i++) v.f[i] = mask >> i & 1 ? p[i] : 0.0f;
    return v.vf;
}
static inline void masked_store(float *p, unsigned mask, simde__m512 x) {
    lanes_512 v;
    v.vf = x;
    for (int i = 0; i < 16; i++) if (mask >> i & 1) p[i] = v.f[i];
}
static inline simde__m512i nearest(simde__m512 x) {
    lanes_512 v;
    v.vf = x;
    for (int i = 0; i < 16; i++) v.i[i] = (int32_t)nearbyintf(v.f[i]);
    return v.vi;
}
static inline simde__m512 to_float(simde__m512i x) {
    lanes_512 v;
    v.vi = x;
    for (int i = 0; i < 16; i++) v.f[i] = (float)v.i[i];
    return v.vf;
}
static inline simde__m512i widen(simde__m128i x) {
    lanes_512 v;
    lanes_128 w;
    w.v = x;
    for (int i = 0; i < 16; i++) v.i[i] = w.b[i];
    return v.vi;
}
static inline simde__m128i narrow(simde__m512i x) {
    lanes_512 v;
    lanes_128 w;
    v.vi = x;
    for (int i = 0; i < 16; i++) w.b[i] = (uint8_t)v.i[i];
    return w.v;
}
#define _mm512_maskz_loadu_ps(mask, p) masked_load(mask, p)
#define _mm512_mask_storeu_ps(p, mask, x) masked_store(p, mask, x)
#define _mm512_cvtps_epi32(x) nearest(x)
#define _mm512_cvtepi32_ps(x) to_float(x)
#define _mm512_cvtepu8_epi32(x) widen(x)
#define _mm512_cvtepi32_epi8(x) narrow(x)
