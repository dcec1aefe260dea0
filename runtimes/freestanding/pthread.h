/* The part of POSIX threads that NAME_pool uses, for a library that loads with any C library or none: weak symbols, which are NULL
   where the process has no threads, and memory that is enough for the mutexes and conditions of glibc, musl and bionic. */
#ifndef EDGEC_PTHREAD_H
#define EDGEC_PTHREAD_H

#include <stdint.h>

#define EDGEC_WEAK_THREADS 1

typedef uintptr_t pthread_t;
typedef struct { uint64_t memory[8]; } pthread_mutex_t;
typedef struct { uint64_t memory[8]; } pthread_cond_t;

#ifdef __cplusplus
extern "C" {
#endif
__attribute__((weak)) int pthread_create(pthread_t *thread, const void *attributes, void *(*work)(void *), void *argument);
__attribute__((weak)) int pthread_join(pthread_t thread, void **result);
__attribute__((weak)) int pthread_mutex_init(pthread_mutex_t *mutex, const void *attributes);
__attribute__((weak)) int pthread_mutex_destroy(pthread_mutex_t *mutex);
__attribute__((weak)) int pthread_mutex_lock(pthread_mutex_t *mutex);
__attribute__((weak)) int pthread_mutex_unlock(pthread_mutex_t *mutex);
__attribute__((weak)) int pthread_cond_init(pthread_cond_t *condition, const void *attributes);
__attribute__((weak)) int pthread_cond_destroy(pthread_cond_t *condition);
__attribute__((weak)) int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
__attribute__((weak)) int pthread_cond_broadcast(pthread_cond_t *condition);
#ifdef __cplusplus
}
#endif

#endif
