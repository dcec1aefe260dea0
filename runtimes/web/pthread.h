/* The part of POSIX threads that NAME_pool uses, by WebAssembly's atomics; src/web/threads.c has it. */
#ifndef MACRO_WEB_PTHREAD_H
#define MACRO_WEB_PTHREAD_H

#include <stdint.h>

typedef int32_t pthread_t;
typedef struct { int32_t locked; } pthread_mutex_t;
typedef struct { int32_t signals; } pthread_cond_t;

int pthread_create(pthread_t *thread, const void *attributes, void *(*work)(void *), void *argument);
int pthread_join(pthread_t thread, void **result);
int pthread_mutex_init(pthread_mutex_t *mutex, const void *attributes);
int pthread_mutex_destroy(pthread_mutex_t *mutex);
int pthread_mutex_lock(pthread_mutex_t *mutex);
int pthread_mutex_unlock(pthread_mutex_t *mutex);
int pthread_cond_init(pthread_cond_t *condition, const void *attributes);
int pthread_cond_destroy(pthread_cond_t *condition);
int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int pthread_cond_broadcast(pthread_cond_t *condition);

#endif
