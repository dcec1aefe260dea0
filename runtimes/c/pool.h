/* A pool of POSIX threads for NAME_set_parallel. All of its state lies in memory that the caller gives. */
#ifndef MACRO_POOL_H
#define MACRO_POOL_H

#include "NAME.h"

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A library that is linked without a C library keeps its pool to itself: its mutexes are larger than the system's. */
#if defined(EDGEC_WEAK_THREADS)
#define MACRO_POOL_API
#else
#define MACRO_POOL_API MACRO_API
#endif

struct NAME_pool;

/* One thread of the pool, and its slot of every round. The thread that calls NAME_run is the pool's first. */
struct NAME_worker {
    struct NAME_pool *pool;
    pthread_t thread;
    int32_t index;
    uint32_t taken; /* the last round in which somebody took the slot */
};

/* Members are private. */
struct NAME_pool {
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    NAME_task task;
    void *argument;
    int32_t parts;
    int32_t threads;
    int32_t sleeping;
    uint32_t round; /* counts the calls; a worker waits until it changes */
    int32_t left;   /* slots of this round that are not done */
    int32_t stop;
    int32_t blocks;
    struct NAME_worker workers[1]; /* `threads` of them */
};

/* Bytes of memory that a pool needs. */
#define MACRO_POOL_BYTES(threads) (sizeof(struct NAME_pool) + (size_t)(threads) * sizeof(struct NAME_worker))

/* Starts `threads` - 1 threads in `memory`; NULL when the memory is too small or the system has no more threads. */
MACRO_POOL_API struct NAME_pool *NAME_pool_start(void *memory, size_t bytes, int32_t threads);

/* The same on some of the processor's cores, by their numbers, such as the fast ones of a phone. The calling thread stays where it is.
   NULL also where the system has no such cores for this process, or lets no program choose (all but Linux and Android). */
MACRO_POOL_API struct NAME_pool *NAME_pool_start_on(void *memory, size_t bytes, int32_t threads, const int32_t *cores, int32_t count);

/* Lets an instance use all threads of the pool: NAME_set_parallel, and NAME_set_shares with the blocks that suit its cores. */
MACRO_POOL_API int NAME_pool_serve(struct NAME_pool *pool, NAME_t *instance);

/* For NAME_set_shares: 1 where the cores that the pool may use are alike, or the system does not tell, and more where some are slower. */
MACRO_POOL_API int32_t NAME_pool_blocks(const struct NAME_pool *pool);

/* The hook for NAME_set_parallel; `pool` is what NAME_pool_start gave. */
MACRO_POOL_API void NAME_pool_parallel_for(void *pool, NAME_task task, void *argument, int32_t parts);

/* Ends the threads; the memory is the caller's again. */
MACRO_POOL_API void NAME_pool_stop(struct NAME_pool *pool);

#ifdef __cplusplus
}
#endif

#endif
