/* Given by the process, or not: see pthread.h. */
#ifndef EDGEC_SCHED_H
#define EDGEC_SCHED_H

#include <stddef.h>

#define CPU_SETSIZE ((int)(8 * sizeof(cpu_set_t)))
#define CPU_BITS (8 * sizeof(unsigned long))
#define CPU_ZERO(set) (*(set) = no_cores)
#define CPU_SET(core, set) ((set)->bits[(core) / CPU_BITS] |= 1ul << (core) % CPU_BITS)
#define CPU_ISSET(core, set) ((set)->bits[(core) / CPU_BITS] >> (core) % CPU_BITS & 1ul)
#define CPU_EQUAL(a, b) same_cores(a, b)

typedef struct { unsigned long bits[1024 / (8 * sizeof(unsigned long))]; } cpu_set_t;

static const cpu_set_t no_cores = {{0}};

static inline int same_cores(const cpu_set_t *a, const cpu_set_t *b) {
    for (size_t i = 0; i < sizeof a->bits / sizeof a->bits[0]; i++) {
        if (a->bits[i] != b->bits[i]) return 0;
    }
    return 1;
}

#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak)) int sched_yield(void);
__attribute__((weak)) int sched_getaffinity(int process, size_t bytes, cpu_set_t *cores);
__attribute__((weak)) int sched_setaffinity(int process, size_t bytes, const cpu_set_t *cores);
#ifdef __cplusplus
}
#endif

#endif
