/* Intel intrinsics by SIMDe, for processors that lack the instructions: compile with -DKERNEL_TARGET= and this folder first. */
#ifndef EDGEC_TESTS_IMMINTRIN_H
#define EDGEC_TESTS_IMMINTRIN_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/fma.h>

#define _mm256_dpbusd_avx_epi32 simde_mm256_dpbusd_epi32
#define _mm256_dpwssd_avx_epi32 simde_mm256_dpwssd_epi32

#define ADDED(sum) /* its vectors need not be registers */

/* What SIMDe 0.7.4 lacks. */
#define EDGEC_SIMDE static inline __attribute__((unused))

/* SIMDe's reads all of the memory before it masks, beyond the end too. */
#undef _mm256_maskload_ps
EDGEC_SIMDE simde__m256 _mm256_maskload_ps(const float *p, simde__m256i mask) {
    int32_t picked[8];
    float v[8];
    int i;
    simde_mm256_storeu_si256((simde__m256i *)picked, mask);
    for (i = 0; i < 8; i++) v[i] = picked[i] < 0 ? p[i] : 0.0f;
    return simde_mm256_loadu_ps(v);
}

#ifndef _mm512_cvtepi32_ps
EDGEC_SIMDE simde__m512 _mm512_cvtepi32_ps(simde__m512i v) {
    int32_t from[16];
    float to[16];
    int i;
    simde_mm512_storeu_si512(from, v);
    for (i = 0; i < 16; i++) to[i] = (float)from[i];
    return simde_mm512_loadu_ps(to);
}
#endif

#ifndef _mm512_cvtepi32_pd
EDGEC_SIMDE simde__m512d _mm512_cvtepi32_pd(simde__m256i v) {
    int32_t from[8];
    double to[8];
    int i;
    simde_mm256_storeu_si256((simde__m256i *)from, v);
    for (i = 0; i < 8; i++) to[i] = from[i];
    return simde_mm512_loadu_pd(to);
}
#endif

#ifndef _mm512_cvtpd_ps
EDGEC_SIMDE simde__m256 _mm512_cvtpd_ps(simde__m512d v) {
    double from[8];
    float to[8];
    int i;
    simde_mm512_storeu_pd(from, v);
    for (i = 0; i < 8; i++) to[i] = (float)from[i];
    return simde_mm256_loadu_ps(to);
}
#endif

#ifndef _mm512_cvtps_epi32
EDGEC_SIMDE simde__m512i _mm512_cvtps_epi32(simde__m512 v) {
    float from[16];
    simde__m256i to[2];
    simde_mm512_storeu_ps(from, v);
    to[0] = simde_mm256_cvtps_epi32(simde_mm256_loadu_ps(from));
    to[1] = simde_mm256_cvtps_epi32(simde_mm256_loadu_ps(from + 8));
    return simde_mm512_loadu_si512(to);
}
#endif

#ifndef _mm512_cvtepu8_epi32
EDGEC_SIMDE simde__m512i _mm512_cvtepu8_epi32(simde__m128i v) {
    uint8_t from[16];
    int32_t to[16];
    int i;
    simde_mm_storeu_si128((simde__m128i *)from, v);
    for (i = 0; i < 16; i++) to[i] = from[i];
    return simde_mm512_loadu_si512(to);
}
#endif

#ifndef _mm512_cvtepi16_epi32
EDGEC_SIMDE simde__m512i _mm512_cvtepi16_epi32(simde__m256i v) {
    int16_t from[16];
    int32_t to[16];
    int i;
    simde_mm256_storeu_si256((simde__m256i *)from, v);
    for (i = 0; i < 16; i++) to[i] = from[i];
    return simde_mm512_loadu_si512(to);
}
#endif

#ifndef _mm512_cvtepi8_epi32
EDGEC_SIMDE simde__m512i _mm512_cvtepi8_epi32(simde__m128i v) {
    int8_t from[16];
    int32_t to[16];
    int i;
    simde_mm_storeu_si128((simde__m128i *)from, v);
    for (i = 0; i < 16; i++) to[i] = from[i];
    return simde_mm512_loadu_si512(to);
}
#endif

#ifndef _mm512_cvtepi32_epi16
EDGEC_SIMDE simde__m256i _mm512_cvtepi32_epi16(simde__m512i v) {
    int32_t from[16];
    int16_t to[16];
    int i;
    simde_mm512_storeu_si512(from, v);
    for (i = 0; i < 16; i++) to[i] = (int16_t)from[i];
    return simde_mm256_loadu_si256((const simde__m256i *)to);
}
#endif

#ifndef _mm512_cvtepi32_epi8
EDGEC_SIMDE simde__m128i _mm512_cvtepi32_epi8(simde__m512i v) {
    int32_t from[16];
    uint8_t to[16];
    int i;
    simde_mm512_storeu_si512(from, v);
    for (i = 0; i < 16; i++) to[i] = (uint8_t)from[i];
    return simde_mm_loadu_si128((const simde__m128i *)to);
}
#endif

#ifndef _mm512_cvtepu8_epi16
EDGEC_SIMDE simde__m512i _mm512_cvtepu8_epi16(simde__m256i v) {
    uint8_t from[32];
    int16_t to[32];
    int i;
    simde_mm256_storeu_si256((simde__m256i *)from, v);
    for (i = 0; i < 32; i++) to[i] = from[i];
    return simde_mm512_loadu_si512(to);
}
#endif

#ifndef _mm512_srai_epi32
EDGEC_SIMDE simde__m512i _mm512_srai_epi32(simde__m512i v, unsigned bits) {
    int32_t part[16];
    int i;
    simde_mm512_storeu_si512(part, v);
    for (i = 0; i < 16; i++) part[i] >>= bits;
    return simde_mm512_loadu_si512(part);
}
#endif

#ifndef _mm256_maskz_loadu_epi8
EDGEC_SIMDE simde__m256i _mm256_maskz_loadu_epi8(simde__mmask32 mask, const void *p) {
    uint8_t v[32];
    int i;
    for (i = 0; i < 32; i++) v[i] = mask >> i & 1 ? ((const uint8_t *)p)[i] : 0;
    return simde_mm256_loadu_si256((const simde__m256i *)v);
}
#endif

/* simde rounds the product as well, where there is no fused instruction. Of a product and a sum that doubles hold this is what one gives. */
#undef _mm512_fmadd_ps
EDGEC_SIMDE simde__m512 _mm512_fmadd_ps(simde__m512 a, simde__m512 b, simde__m512 c) {
    float x[16], y[16], z[16];
    int i;
    simde_mm512_storeu_ps(x, a);
    simde_mm512_storeu_ps(y, b);
    simde_mm512_storeu_ps(z, c);
    for (i = 0; i < 16; i++) x[i] = (float)((double)x[i] * (double)y[i] + (double)z[i]);
    return simde_mm512_loadu_ps(x);
}

#ifndef _mm512_mask_loadu_epi8
EDGEC_SIMDE simde__m512i _mm512_mask_loadu_epi8(simde__m512i other, simde__mmask64 mask, const void *p) {
    uint8_t v[64];
    int i;
    simde_mm512_storeu_si512(v, other);
    for (i = 0; i < 64; i++)
        if (mask >> i & 1) v[i] = ((const uint8_t *)p)[i];
    return simde_mm512_loadu_si512(v);
}
#endif

#ifndef _mm256_mask_loadu_epi8
EDGEC_SIMDE simde__m256i _mm256_mask_loadu_epi8(simde__m256i other, simde__mmask32 mask, const void *p) {
    uint8_t v[32];
    int i;
    simde_mm256_storeu_si256((simde__m256i *)v, other);
    for (i = 0; i < 32; i++)
        if (mask >> i & 1) v[i] = ((const uint8_t *)p)[i];
    return simde_mm256_loadu_si256((const simde__m256i *)v);
}
#endif

#ifndef _mm512_cvtepu32_epi64
EDGEC_SIMDE simde__m512i _mm512_cvtepu32_epi64(simde__m256i v) {
    uint32_t from[8];
    uint64_t to[8];
    int i;
    simde_mm256_storeu_si256((simde__m256i *)from, v);
    for (i = 0; i < 8; i++) to[i] = from[i];
    return simde_mm512_loadu_si512(to);
}
#endif

#ifndef _mm512_shuffle_epi32
#define _MM_PERM_CDAB 0xB1
EDGEC_SIMDE simde__m512i _mm512_shuffle_epi32(simde__m512i v, int order) {
    int32_t from[16], to[16];
    int i;
    simde_mm512_storeu_si512(from, v);
    for (i = 0; i < 16; i++) to[i] = from[i / 4 * 4 + (order >> i % 4 * 2 & 3)];
    return simde_mm512_loadu_si512(to);
}
#endif

#ifndef _mm512_mask_storeu_epi16
EDGEC_SIMDE void _mm512_mask_storeu_epi16(void *p, simde__mmask32 mask, simde__m512i v) {
    int16_t from[32];
    int i;
    simde_mm512_storeu_si512(from, v);
    for (i = 0; i < 32; i++)
        if (mask >> i & 1) ((int16_t *)p)[i] = from[i];
}
#endif

#ifndef _mm512_maskz_loadu_ps
EDGEC_SIMDE simde__m512 _mm512_maskz_loadu_ps(simde__mmask16 mask, const float *p) {
    float v[16];
    int i;
    for (i = 0; i < 16; i++) v[i] = mask >> i & 1 ? p[i] : 0.0f;
    return simde_mm512_loadu_ps(v);
}
#endif

#ifndef _mm512_mask_storeu_ps
EDGEC_SIMDE void _mm512_mask_storeu_ps(float *p, simde__mmask16 mask, simde__m512 x) {
    float v[16];
    int i;
    simde_mm512_storeu_ps(v, x);
    for (i = 0; i < 16; i++)
        if (mask >> i & 1) p[i] = v[i];
}
#endif

#ifndef __mmask16
#define __mmask16 simde__mmask16
#endif

#ifndef _mm512_mask_storeu_epi8
typedef uint32_t __mmask32;
typedef uint64_t __mmask64;

EDGEC_SIMDE void edgec_store_masked(void *to, uint64_t mask, const uint8_t *from, int count) {
    int i;
    for (i = 0; i < count; i++)
        if (mask >> i & 1) ((uint8_t *)to)[i] = from[i];
}

EDGEC_SIMDE void _mm_mask_storeu_epi8(void *to, uint32_t mask, simde__m128i v) {
    uint8_t from[16];
    simde_mm_storeu_si128((simde__m128i *)from, v);
    edgec_store_masked(to, mask, from, 16);
}

EDGEC_SIMDE void _mm256_mask_storeu_epi8(void *to, __mmask32 mask, simde__m256i v) {
    uint8_t from[32];
    simde_mm256_storeu_si256((simde__m256i *)from, v);
    edgec_store_masked(to, mask, from, 32);
}

EDGEC_SIMDE void _mm512_mask_storeu_epi8(void *to, __mmask64 mask, simde__m512i v) {
    uint8_t from[64];
    simde_mm512_storeu_si512(from, v);
    edgec_store_masked(to, mask, from, 64);
}
#endif

#ifndef _mm_maskz_loadu_epi8
EDGEC_SIMDE simde__m128i _mm_maskz_loadu_epi8(uint32_t mask, const void *from) {
    uint8_t to[16] = {0};
    int i;
    for (i = 0; i < 16; i++)
        if (mask >> i & 1) to[i] = ((const uint8_t *)from)[i];
    return simde_mm_loadu_si128((const simde__m128i *)to);
}
#endif

#endif
