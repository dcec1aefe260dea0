/* Threads are workers of JavaScript: it starts one for each pthread_create, in an instance of this module on the same memory and with a
   stack of its own, and that one calls `work`. What pages show may not wait, so that only a spin lock guards what all threads change. */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>

#define EXPORT(name) __attribute__((export_name(name), visibility("default")))

enum { MOST = 64, NANOSECONDS = 10000 };

static struct { void *(*work)(void *); void *argument; } begun[MOST];
static int32_t count, waits, nothing;

/* Whether the thread that runs the model may wait; all others may. */
EXPORT("may_wait") void set_may_wait(int32_t may) { waits = may; }

EXPORT("work") void work(int32_t thread) { begun[thread].work(begun[thread].argument); }

int pthread_create(pthread_t *thread, const void *attributes, void *(*function)(void *), void *argument) {
    (void)attributes;
    if (count == MOST) return 1;
    begun[count].work = function;
    begun[count].argument = argument;
    *thread = count++;
    return 0;
}

/* JavaScript ends its workers. */
int pthread_join(pthread_t thread, void **result) {
    (void)thread;
    (void)result;
    return 0;
}

int sched_yield(void) {
    return waits ? __builtin_wasm_memory_atomic_wait32(&nothing, 0, NANOSECONDS) : 0;
}

int pthread_mutex_init(pthread_mutex_t *mutex, const void *attributes) {
    (void)attributes;
    mutex->locked = 0;
    return 0;
}

int pthread_mutex_lock(pthread_mutex_t *mutex) {
    while (__atomic_exchange_n(&mutex->locked, 1, __ATOMIC_ACQUIRE) != 0) sched_yield();
    return 0;
}

int pthread_mutex_unlock(pthread_mutex_t *mutex) {
    __atomic_store_n(&mutex->locked, 0, __ATOMIC_RELEASE);
    return 0;
}

int pthread_mutex_destroy(pthread_mutex_t *mutex) {
    (void)mutex;
    return 0;
}

int pthread_cond_init(pthread_cond_t *condition, const void *attributes) {
    (void)attributes;
    condition->signals = 0;
    return 0;
}

int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    const int32_t seen = __atomic_load_n(&condition->signals, __ATOMIC_RELAXED);
    pthread_mutex_unlock(mutex);
    __builtin_wasm_memory_atomic_wait32(&condition->signals, seen, -1);
    return pthread_mutex_lock(mutex);
}

int pthread_cond_broadcast(pthread_cond_t *condition) {
    __atomic_add_fetch(&condition->signals, 1, __ATOMIC_RELEASE);
    __builtin_wasm_memory_atomic_notify(&condition->signals, (unsigned)MOST);
    return 0;
}

int pthread_cond_destroy(pthread_cond_t *condition) {
    (void)condition;
    return 0;
}
