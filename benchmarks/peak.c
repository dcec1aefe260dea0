/* What one core can do at most, for one vocabulary: peak VOCABULARY prints lines of a word and a rate, 1e9 a second.

   fp32: multiply-accumulates of floats. int8: of bytes, by the instruction that is exact there. store_l1, store_l2: bytes stored with
   whole vectors into 16 KiB and 512 KiB. Each is the best of many short measurements. Compile with -O2, no instruction set chosen. */
#define _POSIX_C_SOURCE 199309L
#include <immintrin.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { STEPS = 2000, ROUNDS = 4000, CHAINS = 12, L1_BYTES = 16 << 10, L2_BYTES = 512 << 10 };

typedef float floats16 __attribute__((vector_size(64)));
typedef float floats8 __attribute__((vector_size(32)));
typedef float floats4 __attribute__((vector_size(16)));
typedef int ints16 __attribute__((vector_size(64)));
typedef int ints8 __attribute__((vector_size(32)));
typedef int ints4 __attribute__((vector_size(16)));

static unsigned char memory[L2_BYTES] __attribute__((aligned(64)));

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Twelve independent chains cover any latency of four cycles at two instructions a cycle. The assembler's part is empty: it makes the
   compiler believe that values change. */
#define CHANGED(a) __asm__ volatile("" : "+x"(a))
#define CHANGED_512(a) __asm__ volatile("" : "+v"(a))
#define EACH(DO) DO(a0) DO(a1) DO(a2) DO(a3) DO(a4) DO(a5) DO(a6) DO(a7) DO(a8) DO(a9) DO(a10) DO(a11)
#define CHAIN(NAME, FEATURES, VECTOR, KEEP, STEP) \
    __attribute__((target(FEATURES), noinline)) static void NAME(void) { \
        VECTOR x = {0}, a0 = x, a1 = x, a2 = x, a3 = x, a4 = x, a5 = x, a6 = x, a7 = x, a8 = x, a9 = x, a10 = x, a11 = x; \
        int step; \
        for (step = 0; step < STEPS; step++) { \
            KEEP(x); \
            EACH(STEP) \
            EACH(KEEP##_AND) \
        } \
    }
#define CHANGED_AND(a) CHANGED(a);
#define CHANGED_512_AND(a) CHANGED_512(a);

#define FMA_512(a) a = (floats16)_mm512_fmadd_ps((__m512)x, (__m512)x, (__m512)a);
#define FMA_256(a) a = (floats8)_mm256_fmadd_ps((__m256)x, (__m256)x, (__m256)a);
#define MULTIPLY_ADD_128(a) a = (floats4)_mm_add_ps(_mm_mul_ps((__m128)x, (__m128)a), (__m128)x);
#define DOT_512(a) a = (ints16)_mm512_dpbusd_epi32((__m512i)a, (__m512i)x, (__m512i)x);
#define DOT_256(a) a = (ints8)_mm256_dpbusd_avx_epi32((__m256i)a, (__m256i)x, (__m256i)x);
#define PAIRS_256(a) a = (ints8)_mm256_add_epi32((__m256i)x, _mm256_madd_epi16((__m256i)x, (__m256i)a));
#define PAIRS_128(a) a = (ints4)_mm_add_epi32((__m128i)x, _mm_madd_epi16((__m128i)x, (__m128i)a));

CHAIN(fma_512, "avx512f", floats16, CHANGED_512, FMA_512)
CHAIN(fma_256, "avx2,fma", floats8, CHANGED, FMA_256)
CHAIN(multiply_add_128, "sse4.1", floats4, CHANGED, MULTIPLY_ADD_128)
CHAIN(dot_512, "avx512f,avx512vnni", ints16, CHANGED_512, DOT_512)
CHAIN(dot_256, "avx2,avxvnni", ints8, CHANGED, DOT_256)
CHAIN(pairs_256, "avx2", ints8, CHANGED, PAIRS_256)
CHAIN(pairs_128, "sse4.1", ints4, CHANGED, PAIRS_128)

#define STORES(NAME, FEATURES, VECTOR, ZERO, STORE, BYTES) \
    __attribute__((target(FEATURES), noinline)) static void NAME(void) { \
        size_t at; \
        for (at = 0; at < (BYTES); at += 4 * sizeof(VECTOR)) { \
            VECTOR *const place = (VECTOR *)(void *)(memory + at); \
            STORE(place, ZERO); \
            STORE(place + 1, ZERO); \
            STORE(place + 2, ZERO); \
            STORE(place + 3, ZERO); \
            __asm__ volatile("" : : "r"(place) : "memory"); \
        } \
    }
STORES(store_512_l1, "avx512f", __m512i, _mm512_setzero_si512(), _mm512_store_si512, L1_BYTES)
STORES(store_512_l2, "avx512f", __m512i, _mm512_setzero_si512(), _mm512_store_si512, L2_BYTES)
STORES(store_256_l1, "avx2", __m256i, _mm256_setzero_si256(), _mm256_store_si256, L1_BYTES)
STORES(store_256_l2, "avx2", __m256i, _mm256_setzero_si256(), _mm256_store_si256, L2_BYTES)
STORES(store_128_l1, "sse4.1", __m128i, _mm_setzero_si128(), _mm_store_si128, L1_BYTES)
STORES(store_128_l2, "sse4.1", __m128i, _mm_setzero_si128(), _mm_store_si128, L2_BYTES)

/* `work`: what one call does, in the unit of the rate: multiply-accumulates or bytes. */
static const struct {
    const char *vocabulary, *word;
    void (*call)(void);
    double work;
} measurements[] = {
    {"avx512vnni", "fp32", fma_512, 16.0 * CHAINS * STEPS},
    {"avx512vnni", "int8", dot_512, 64.0 * CHAINS * STEPS},
    {"avx512vnni", "store_l1", store_512_l1, L1_BYTES},
    {"avx512vnni", "store_l2", store_512_l2, L2_BYTES},
    {"avxvnni", "fp32", fma_256, 8.0 * CHAINS * STEPS},
    {"avxvnni", "int8", dot_256, 32.0 * CHAINS * STEPS},
    {"avxvnni", "store_l1", store_256_l1, L1_BYTES},
    {"avxvnni", "store_l2", store_256_l2, L2_BYTES},
    {"avx2", "fp32", fma_256, 8.0 * CHAINS * STEPS},
    {"avx2", "int8", pairs_256, 16.0 * CHAINS * STEPS},
    {"avx2", "store_l1", store_256_l1, L1_BYTES},
    {"avx2", "store_l2", store_256_l2, L2_BYTES},
    {"sse41", "fp32", multiply_add_128, 4.0 * CHAINS * STEPS},
    {"sse41", "int8", pairs_128, 8.0 * CHAINS * STEPS},
    {"sse41", "store_l1", store_128_l1, L1_BYTES},
    {"sse41", "store_l2", store_128_l2, L2_BYTES},
};

int main(int argc, char **argv) {
    size_t i;
    for (i = 0; i < sizeof measurements / sizeof measurements[0]; i++) {
        double best = 1e9;
        int round;
        if (argc != 2 || strcmp(measurements[i].vocabulary, argv[1]) != 0) continue;
        for (round = 0; round < ROUNDS; round++) {
            const double start = now();
            measurements[i].call();
            const double taken = now() - start;
            if (taken < best) best = taken;
        }
        printf("%s %.2f\n", measurements[i].word, measurements[i].work / best * 1e-9);
    }
    return 0;
}
