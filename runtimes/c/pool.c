/* Threads that spin for a while after each step, because the next one comes soon, and then sleep. */
#include "NAME_pool.h"

#include <sched.h>

/* In a library that is linked without a C library these are weak symbols: NULL in a process that has no threads. */
#if defined(EDGEC_WEAK_THREADS)
#define THREADS_EXIST                                                                                                                     \
    (pthread_create != NULL && pthread_join != NULL && pthread_mutex_init != NULL && pthread_mutex_lock != NULL &&                        \
     pthread_mutex_unlock != NULL && pthread_mutex_destroy != NULL && pthread_cond_init != NULL && pthread_cond_wait != NULL &&           \
     pthread_cond_broadcast != NULL && pthread_cond_destroy != NULL && sched_yield != NULL)
#else
#define THREADS_EXIST 1
#endif

enum { SPINS = 4000, SPINS_BEFORE_YIELD = 1000 };

static inline void pause_briefly(int32_t spins) {
    if (spins % SPINS_BEFORE_YIELD == SPINS_BEFORE_YIELD - 1) sched_yield(); /* more threads than processors */
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__ARM_ARCH_7A__)
    __asm__ volatile("yield");
#elif defined(__wasm__)
    for (int32_t turn = 0; turn < 32; turn++) __asm__ volatile(""); /* it has no such instruction: about as long as x86's takes */
#endif
}

static uint32_t wait_for_round(struct NAME_pool *pool, uint32_t seen) {
    for (int32_t spins = 0; spins < SPINS; spins++) {
        const uint32_t round = __atomic_load_n(&pool->round, __ATOMIC_ACQUIRE);
        if (round != seen) return round;
        pause_briefly(spins);
    }
    pthread_mutex_lock(&pool->mutex);
    pool->sleeping++;
    while (__atomic_load_n(&pool->round, __ATOMIC_ACQUIRE) == seen) pthread_cond_wait(&pool->wake, &pool->mutex);
    pool->sleeping--;
    pthread_mutex_unlock(&pool->mutex);
    return __atomic_load_n(&pool->round, __ATOMIC_ACQUIRE);
}

/* Parts are dealt out statically: the same thread does the same part each time. */
static void do_share(const struct NAME_pool *pool, int32_t index) {
    for (int32_t part = index; part < pool->parts; part += pool->threads) pool->task(pool->argument, part, pool->parts);
}

static void *work(void *argument) {
    struct NAME_worker *const worker = (struct NAME_worker *)argument;
    struct NAME_pool *const pool = worker->pool;
    uint32_t seen = 0;
    for (;;) {
        seen = wait_for_round(pool, seen);
        if (pool->stop) return NULL;
        do_share(pool, worker->index);
        __atomic_sub_fetch(&pool->busy, 1, __ATOMIC_RELEASE);
    }
}

static void begin_round(struct NAME_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    __atomic_add_fetch(&pool->round, 1, __ATOMIC_RELEASE);
    if (pool->sleeping > 0) pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
}

void NAME_pool_parallel_for(void *user, NAME_task task, void *argument, int32_t parts) {
    struct NAME_pool *const pool = (struct NAME_pool *)user;
    if (!THREADS_EXIST) {
        for (int32_t part = 0; part < parts; part++) task(argument, part, parts);
        return;
    }
    pool->task = task;
    pool->argument = argument;
    pool->parts = parts;
    __atomic_store_n(&pool->busy, pool->threads - 1, __ATOMIC_RELAXED);
    begin_round(pool);
    do_share(pool, 0);
    for (int32_t spins = 0; __atomic_load_n(&pool->busy, __ATOMIC_ACQUIRE) > 0; spins = (spins + 1) % SPINS) pause_briefly(spins);
}

void NAME_pool_stop(struct NAME_pool *pool) {
    if (!THREADS_EXIST) return;
    pool->stop = 1;
    begin_round(pool);
    for (int32_t i = 0; i < pool->threads - 1; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
}

struct NAME_pool *NAME_pool_start(void *memory, size_t bytes, int32_t threads) {
    struct NAME_pool *const pool = (struct NAME_pool *)memory;
    if (memory == NULL || threads < 1 || bytes < MACRO_POOL_BYTES(0)) return NULL;
    if ((size_t)threads > (bytes - MACRO_POOL_BYTES(0)) / sizeof(struct NAME_worker)) return NULL; /* _POOL_BYTES may be too much for a size_t */
    pool->threads = 1;
    pool->sleeping = 0;
    pool->round = 0;
    pool->stop = 0;
    if (!THREADS_EXIST) return pool;
    if (pthread_mutex_init(&pool->mutex, NULL) != 0) return NULL;
    if (pthread_cond_init(&pool->wake, NULL) != 0) {
        pthread_mutex_destroy(&pool->mutex);
        return NULL;
    }
    for (int32_t i = 0; i < threads - 1; i++) {
        struct NAME_worker *const worker = (struct NAME_worker *)(void *)(pool->workers + i);
        worker->pool = pool;
        worker->index = i + 1;
        if (pthread_create(&worker->thread, NULL, work, worker) != 0) {
            NAME_pool_stop(pool);
            return NULL;
        }
        pool->threads++;
    }
    return pool;
}
