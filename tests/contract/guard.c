/* Runs NAME with every piece of memory, of exactly the size that the interface asks for, against a page that nobody may
   touch: first its end, then its start. Status 0 when every answer of the exam came out right.

   guard [ISA] [THREADS] */
#define _GNU_SOURCE

#include "NAME_exam.h"
#include "NAME_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void require(int condition, const char *what) {
    if (condition) return;
    fprintf(stderr, "guard: %s\n", what);
    exit(1);
}

/* `bytes` of memory between two forbidden pages: directly before the second, or directly behind the first. */
static unsigned char *guarded(size_t bytes, int at_end) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes + page - 1) / page * page;
    unsigned char *const all = (unsigned char *)mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(all != (unsigned char *)MAP_FAILED, "mmap");
    require(inner == 0 || mprotect(all + page, inner, PROT_READ | PROT_WRITE) == 0, "mprotect");
    memset(all + page, 0xa5, inner);
    return at_end ? all + page + inner - bytes : all + page;
}

static void protect(const unsigned char *memory, size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *const start = (unsigned char *)((uintptr_t)memory / page * page);
    require(mprotect(start, (size_t)(memory + bytes - start), PROT_READ) == 0, "mprotect");
}

/* Sizes and places that init must refuse. */
static void refuse(NAME_t *instance, unsigned char *arena, size_t bytes) {
    require(NAME_init(instance, arena, bytes - 1) == MACRO_ARENA_TOO_SMALL, "init takes one byte less");
    require(NAME_init(instance, arena, 0) == MACRO_ARENA_TOO_SMALL, "init takes no bytes");
    for (size_t shift = 1; shift < MACRO_ARENA_ALIGNMENT; shift++) {
        require(NAME_init(instance, arena + shift, bytes) == MACRO_ARENA_MISALIGNED, "init takes a misaligned arena");
    }
    require(NAME_init(instance, NULL, bytes) == MACRO_BAD_ARGUMENT, "init takes no arena");
}

static void answer(NAME_t *instance, const struct exam_vector *vector, int at_end) {
    unsigned char *tensors[INPUTS + OUTPUTS];
    for (int i = 0; i < INPUTS + OUTPUTS; i++) {
        tensors[i] = guarded(vector->tensors[i].bytes, at_end);
        if (i >= INPUTS) continue;
        memcpy(tensors[i], exam_data() + vector->tensors[i].offset, vector->tensors[i].bytes);
        protect(tensors[i], vector->tensors[i].bytes);
    }
    require(exam_run(instance, vector->sizes, tensors) == MACRO_OK, "run");
    for (int i = INPUTS; i < INPUTS + OUTPUTS; i++) {
        const unsigned char *const expected = exam_data() + vector->tensors[i].offset;
        require(!exam_ports[i].exact || memcmp(tensors[i], expected, vector->tensors[i].bytes) == 0, "wrong answer");
    }
}

int main(int argc, char **argv) {
    const char *const isa = argc > 1 ? argv[1] : NULL;
    const int threads = argc > 2 ? atoi(argv[2]) : 1;
    for (int at_end = 0; at_end < 2; at_end++) {
        const size_t bytes = MACRO_ARENA_BYTES_FOR(threads);
        unsigned char *const arena = guarded(bytes, at_end), *const weights = guarded(MACRO_WEIGHTS_BYTES, at_end);
        NAME_t instance;
        struct NAME_pool *pool = NULL;
        refuse(&instance, arena, MACRO_ARENA_BYTES);
        require(NAME_init(&instance, arena, bytes) == MACRO_OK, "init");
        require(NAME_set_parallel(&instance, NAME_pool_parallel_for, &instance, threads + 1) != MACRO_OK || MACRO_ARENA_BYTES_FOR(1) == MACRO_ARENA_BYTES_FOR(2),
                "set_parallel takes more threads than the arena holds");
        require(NAME_init(&instance, arena, bytes) == MACRO_OK, "init");
        require(isa == NULL || NAME_force_isa(&instance, isa) == MACRO_OK, "force_isa");
        memcpy(weights, NAME_weights_in_use(&instance), MACRO_WEIGHTS_BYTES);
        protect(weights, MACRO_WEIGHTS_BYTES);
        require(NAME_set_weights(&instance, weights, MACRO_WEIGHTS_BYTES) == MACRO_OK, "set_weights");
        if (threads > 1) {
            unsigned char *const memory = guarded(MACRO_POOL_BYTES(threads), at_end);
            pool = NAME_pool_start(memory, MACRO_POOL_BYTES(threads), threads);
            require(pool != NULL, "pool");
            require(NAME_pool_serve(pool, &instance) == MACRO_OK, "pool_serve");
            require(NAME_set_shares(&instance, at_end ? 4 : 1, 0) == MACRO_OK, "set_shares");
        }
        for (int i = 0; i < VECTORS; i++) answer(&instance, &exam_vectors[i], at_end);
        if (pool != NULL) NAME_pool_stop(pool);
    }
    return 0;
}
