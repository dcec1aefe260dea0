/* Which sets of instructions this processor, and its operating system, can run: one bit each, found without any library. */
#ifndef EDGEC_DISPATCH_H
#define EDGEC_DISPATCH_H

#include <stddef.h>
#include <stdint.h>

#define EDGEC_CPU_PORTABLE 0u
#define EDGEC_CPU_SSE41 1u
#define EDGEC_CPU_AVX2 2u
#define EDGEC_CPU_AVXVNNI 4u
#define EDGEC_CPU_AVX512VNNI 8u
#define EDGEC_CPU_NEON 0u /* part of every aarch64 */
#define EDGEC_CPU_DOTPROD 16u
#define EDGEC_CPU_I8MM 32u
#define EDGEC_CPU_FP16 64u
#define EDGEC_CPU_NEON32 0u /* what the armv7 targets are built for */
#define EDGEC_CPU_DSP 0u /* what the Cortex-M targets are built for */
#define EDGEC_CPU_HELIUM 0u
#define EDGEC_CPU_WASM128 0u /* engines without it take another module */
#define EDGEC_CPU_RELAXED7 0u /* the same */
#define EDGEC_CPU_RELAXED8 128u

#if defined(__x86_64__) || defined(__i386__) || defined(_M_X64)
#if defined(_MSC_VER) && !defined(__clang__)
#include <intrin.h>
#else
#include <cpuid.h>
#endif

struct edgec_cpuid {
    unsigned int a, b, c, d;
};

static inline struct edgec_cpuid edgec_cpuid(unsigned int leaf, unsigned int subleaf) {
    struct edgec_cpuid r = {0, 0, 0, 0};
#if defined(_MSC_VER) && !defined(__clang__)
    int words[4];
    __cpuid(words, 0);
    if ((unsigned int)words[0] < leaf) return r;
    __cpuidex(words, (int)leaf, (int)subleaf);
    r.a = (unsigned int)words[0], r.b = (unsigned int)words[1], r.c = (unsigned int)words[2], r.d = (unsigned int)words[3];
#else
    __get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d);
#endif
    return r;
}

/* The register states that the operating system saves. */
static inline unsigned int edgec_xcr0(void) {
#if defined(_MSC_VER) && !defined(__clang__)
    return (unsigned int)_xgetbv(0);
#else
    unsigned int low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    (void)high;
    return low;
#endif
}

static inline uint32_t edgec_cpu(uint64_t features) {
    const struct edgec_cpuid one = edgec_cpuid(1, 0), seven = edgec_cpuid(7, 0);
    const unsigned int states = one.c >> 27 & 1u ? edgec_xcr0() : 0;
    const int ymm = (states & 0x6u) == 0x6u, zmm = (states & 0xe6u) == 0xe6u;
    const int avx2 = ymm && (one.c >> 28 & 1u) && (one.c >> 12 & 1u) && (seven.b >> 5 & 1u);
    const unsigned int avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
    uint32_t found = (uint32_t)features;
    if (one.c >> 19 & 1u) found |= EDGEC_CPU_SSE41;
    if (avx2) found |= EDGEC_CPU_AVX2;
    if (avx2 && seven.a >= 1 && (edgec_cpuid(7, 1).a >> 4 & 1u)) found |= EDGEC_CPU_AVXVNNI;
    if (avx2 && zmm && (seven.b & avx512) == avx512 && (seven.c >> 11 & 1u)) found |= EDGEC_CPU_AVX512VNNI;
    return found;
}

#elif defined(__aarch64__) || defined(_M_ARM64)

#if defined(__APPLE__)
#ifdef __cplusplus
extern "C"
#endif
int sysctlbyname(const char *name, void *value, size_t *bytes, void *new_value, size_t new_bytes);

static inline int edgec_apple_has(const char *feature) {
    int32_t value = 0;
    size_t bytes = sizeof value;
    return sysctlbyname(feature, &value, &bytes, NULL, 0) == 0 && value != 0;
}
#endif

#if defined(__linux__)
/* Linux from 4.11 on lets programs read the identification registers; before that (on phones) it ends those that try. */
static inline int edgec_linux_tells(void) {
    char names[6][65]; /* what uname says of system, host, release, ... */
    const char *at = names[2];
    long status;
    int major = 0, minor = 0;
    __asm__ volatile("mov x8, #160\n\tmov x0, %1\n\tsvc #0\n\tmov %0, x0" : "=r"(status) : "r"(&names[0][0]) : "x0", "x8", "memory");
    if (status != 0) return 0;
    for (; *at >= '0' && *at <= '9'; at++) major = major * 10 + (*at - '0');
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++) minor = minor * 10 + (*at - '0');
    return major > 4 || (major == 4 && minor >= 11);
}
#endif

/* What the system lets find out; where that is nothing, the caller tells. */
static inline uint32_t edgec_cpu(uint64_t features) {
    uint32_t found = (uint32_t)features;
#if defined(__linux__)
    if (edgec_linux_tells()) {
        uint64_t isar0, isar1, pfr0;
        __asm__("mrs %0, s3_0_c0_c6_0" : "=r"(isar0));
        __asm__("mrs %0, s3_0_c0_c6_1" : "=r"(isar1));
        __asm__("mrs %0, s3_0_c0_c4_0" : "=r"(pfr0));
        if (isar0 >> 44 & 15u) found |= EDGEC_CPU_DOTPROD;
        if ((isar0 >> 44 & 15u) && (isar1 >> 52 & 15u)) found |= EDGEC_CPU_I8MM;
        if ((pfr0 >> 20 & 15u) == 1u) found |= EDGEC_CPU_FP16; /* 15: no vectors at all */
    }
#elif defined(__APPLE__)
    if (edgec_apple_has("hw.optional.arm.FEAT_DotProd")) found |= EDGEC_CPU_DOTPROD;
    if ((found & EDGEC_CPU_DOTPROD) && edgec_apple_has("hw.optional.arm.FEAT_I8MM")) found |= EDGEC_CPU_I8MM;
    if (edgec_apple_has("hw.optional.arm.FEAT_FP16")) found |= EDGEC_CPU_FP16;
#endif
#if !defined(EDGEC_FEATURES_ARE_FORCED) /* what it is compiled for, it has */
#if defined(__ARM_FEATURE_DOTPROD)
    found |= EDGEC_CPU_DOTPROD;
#endif
#if defined(__ARM_FEATURE_DOTPROD) && defined(__ARM_FEATURE_MATMUL_INT8)
    found |= EDGEC_CPU_I8MM;
#endif
#if defined(__ARM_FEATURE_FP16_VECTOR_ARITHMETIC)
    found |= EDGEC_CPU_FP16;
#endif
#endif
    return found;
}

#else

static inline uint32_t edgec_cpu(uint64_t features) { return (uint32_t)features; }

#endif

/* The same from Linux's AT_HWCAP (bit 10: halves, bit 20: dot products) and AT_HWCAP2 (bit 13: matrix products) on 64-bit ARM. */
static inline uint32_t edgec_cpu_from_hwcap(uint64_t hwcap, uint64_t hwcap2) {
#if defined(__aarch64__) || defined(_M_ARM64)
    const uint32_t dotprod = hwcap >> 20 & 1u ? EDGEC_CPU_DOTPROD : 0, fp16 = hwcap >> 10 & 1u ? EDGEC_CPU_FP16 : 0;
    return fp16 | (dotprod && (hwcap2 >> 13 & 1u) ? dotprod | EDGEC_CPU_I8MM : dotprod);
#else
    (void)hwcap;
    (void)hwcap2;
    return 0;
#endif
}

#endif
