/* Threads that spin for a while after each step, because the next one comes soon, and then sleep. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* to choose cores */
#endif

#include "NAME_pool.h"

#include <sched.h>
#if defined(__linux__)
#include <fcntl.h>
#include <unistd.h>
#endif

/* In a library that is linked without a C library these are weak symbols: NULL in a process that has no threads. */
#if defined(EDGEC_WEAK_THREADS)
#define THREADS_EXIST                                                                                                                     \
    (pthread_create != NULL && pthread_join != NULL && pthread_mutex_init != NULL && pthread_mutex_lock != NULL &&                        \
     pthread_mutex_unlock != NULL && pthread_mutex_destroy != NULL && pthread_cond_init != NULL && pthread_cond_wait != NULL &&           \
     pthread_cond_broadcast != NULL && pthread_cond_destroy != NULL && sched_yield != NULL)
#else
#define THREADS_EXIST 1
#endif

/* Where Linux tells of core 0, less its number. */
#if !defined(EDGEC_CORES)
#define EDGEC_CORES "/sys/devices/system/cpu/cpu"
#endif

enum { BLOCKS = 8 }; /* of a step for each thread where cores differ: the last to end is late by a part of its share alone */
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

/* Whether a slot is still to be taken in this round, which it then is: every slot is taken once in every round. */
static int take(struct NAME_pool *pool, int32_t slot, uint32_t round) {
    uint32_t before = round - 1;
    return __atomic_compare_exchange_n(&pool->workers[slot].taken, &before, round, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

/* Parts are dealt out statically: the same thread does the same part each time, its slot's. Only those of threads that sleep, or that the
   system gives no processor, are done by whoever is done with his own; they come too late then, and nobody waits for them. */
static void do_share(struct NAME_pool *pool, int32_t index, uint32_t round) {
    for (int32_t i = 0; i < pool->threads; i++) {
        const int32_t slot = (index + i) % pool->threads;
        if (!take(pool, slot, round)) continue;
        for (int32_t part = slot; part < pool->parts; part += pool->threads) pool->task(pool->argument, part, pool->parts);
        __atomic_sub_fetch(&pool->left, 1, __ATOMIC_RELEASE);
    }
}

static void *work(void *argument) {
    struct NAME_worker *const worker = (struct NAME_worker *)argument;
    struct NAME_pool *const pool = worker->pool;
    uint32_t seen = 0;
    for (;;) {
        seen = wait_for_round(pool, seen);
        if (__atomic_load_n(&pool->stop, __ATOMIC_RELAXED)) return NULL;
        do_share(pool, worker->index, seen);
    }
}

static uint32_t begin_round(struct NAME_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    const uint32_t round = __atomic_add_fetch(&pool->round, 1, __ATOMIC_RELEASE);
    if (pool->sleeping > 0) pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
    return round;
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
    __atomic_store_n(&pool->left, pool->threads, __ATOMIC_RELAXED);
    do_share(pool, 0, begin_round(pool));
    for (int32_t spins = 0; __atomic_load_n(&pool->left, __ATOMIC_ACQUIRE) > 0; spins = (spins + 1) % SPINS) pause_briefly(spins);
}

void NAME_pool_stop(struct NAME_pool *pool) {
    if (!THREADS_EXIST) return;
    __atomic_store_n(&pool->stop, 1, __ATOMIC_RELAXED);
    begin_round(pool);
    for (int32_t i = 1; i < pool->threads; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
}

#if defined(__linux__) && defined(CPU_ZERO)

#if defined(EDGEC_WEAK_THREADS)
#define CORES_EXIST (sched_getaffinity != NULL && sched_setaffinity != NULL && open != NULL && read != NULL && close != NULL)
#else
#define CORES_EXIST 1
#endif

/* The number in EDGEC_CORES<core>/<file>, 0 where there is none. */
static int64_t tell(int32_t core, const char *file) {
    char path[sizeof EDGEC_CORES + 40] = EDGEC_CORES, text[24], digits[8];
    size_t end = sizeof EDGEC_CORES - 1, count = 0;
    int64_t number = 0;
    do digits[count++] = (char)('0' + core % 10);
    while ((core /= 10) > 0);
    while (count > 0) path[end++] = digits[--count];
    while (*file != '\0') path[end++] = *file++;
    path[end] = '\0';
    const int opened = open(path, O_RDONLY);
    if (opened < 0) return 0;
    const int64_t found = (int64_t)read(opened, text, sizeof text);
    close(opened);
    for (int64_t i = 0; i < found && text[i] >= '0' && text[i] <= '9' && number < INT32_MAX; i++) number = number * 10 + (text[i] - '0');
    return number;
}

/* Whether the slowest of the calling thread's cores does less than 7/8 of the fastest; systems clock the best of equal cores a little higher. */
static int cores_differ(void) {
    cpu_set_t allowed;
    int64_t least = 0, most = 0;
    if (!CORES_EXIST || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
    for (int32_t core = 0; core < CPU_SETSIZE; core++) {
        if (!CPU_ISSET((size_t)core, &allowed)) continue;
        const int64_t capacity = tell(core, "/cpu_capacity"), speed = capacity > 0 ? capacity : tell(core, "/cpufreq/cpuinfo_max_freq");
        if (speed == 0) return 0;
        if (least == 0 || speed < least) least = speed;
        if (speed > most) most = speed;
    }
    return least * 8 < most * 7;
}

#else

/* Apple's ARM processors all have cores of two kinds; others do not tell. */
static int cores_differ(void) {
#if defined(__APPLE__) && defined(__aarch64__)
    return 1;
#else
    return 0;
#endif
}

#endif

int32_t NAME_pool_blocks(const struct NAME_pool *pool) { return pool->blocks; }

int NAME_pool_serve(struct NAME_pool *pool, NAME_t *instance) {
    if (pool == NULL) return MACRO_BAD_ARGUMENT;
    const int status = NAME_set_parallel(instance, NAME_pool_parallel_for, pool, pool->threads);
    return status != MACRO_OK ? status : NAME_set_shares(instance, pool->blocks, -1);
}

struct NAME_pool *NAME_pool_start_on(void *memory, size_t bytes, int32_t threads, const int32_t *cores, int32_t count) {
#if defined(__linux__) && defined(CPU_ZERO)
    cpu_set_t before, wanted, got;
    struct NAME_pool *pool = NULL;
    if (!CORES_EXIST || cores == NULL || count < 1 || sched_getaffinity(0, sizeof before, &before) != 0) return NULL;
    CPU_ZERO(&wanted);
    for (int32_t i = 0; i < count; i++) {
        if (cores[i] < 0 || cores[i] >= CPU_SETSIZE) return NULL;
        CPU_SET((size_t)cores[i], &wanted);
    }
    /* threads begin with the cores of the one that starts them, which then takes its own again */
    if (sched_setaffinity(0, sizeof wanted, &wanted) != 0) return NULL;
    if (sched_getaffinity(0, sizeof got, &got) == 0 && CPU_EQUAL(&wanted, &got)) pool = NAME_pool_start(memory, bytes, threads);
    sched_setaffinity(0, sizeof before, &before);
    return pool;
#else
    (void)memory;
    (void)bytes;
    (void)threads;
    (void)cores;
    (void)count;
    return NULL;
#endif
}

struct NAME_pool *NAME_pool_start(void *memory, size_t bytes, int32_t threads) {
    struct NAME_pool *const pool = (struct NAME_pool *)memory;
    if (memory == NULL || threads < 1 || bytes < MACRO_POOL_BYTES(0)) return NULL;
    if ((size_t)threads > (bytes - MACRO_POOL_BYTES(0)) / sizeof(struct NAME_worker)) return NULL; /* _POOL_BYTES may be too much for a size_t */
    pool->threads = 1;
    pool->sleeping = 0;
    pool->round = 0;
    pool->stop = 0;
    pool->blocks = 1;
    if (!THREADS_EXIST) return pool;
    if (threads > 1 && cores_differ()) pool->blocks = BLOCKS;
    if (pthread_mutex_init(&pool->mutex, NULL) != 0) return NULL;
    if (pthread_cond_init(&pool->wake, NULL) != 0) {
        pthread_mutex_destroy(&pool->mutex);
        return NULL;
    }
    pool->workers[0].taken = 0;
    for (int32_t i = 1; i < threads; i++) {
        struct NAME_worker *const worker = (struct NAME_worker *)(void *)(pool->workers + i);
        worker->pool = pool;
        worker->index = i;
        worker->taken = 0;
        if (pthread_create(&worker->thread, NULL, work, worker) != 0) {
            NAME_pool_stop(pool);
            return NULL;
        }
        pool->threads++;
    }
    return pool;
}
