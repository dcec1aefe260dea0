/* Runs many packages in one process. For every case that it is asked for on stdin (a 32-bit number, then the bytes of the inputs)
   it answers with a 32-bit status and the bytes of the outputs. The first argument names the set of instructions, "" the best one;
   the second is the number of threads. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct batch_case {
    int (*run)(const char *isa, int32_t threads, void *arena, size_t arena_bytes, unsigned char *const *tensors);
    size_t tensor_bytes, scratch_bytes; /* of the arena; scratch for each thread */
    int inputs, outputs;
    const size_t *bytes; /* of the inputs, then of the outputs */
};

extern const struct batch_case batch_cases[];

enum { MOST_TENSORS = 128, MOST_THREADS = 16, OUTPUT_OVERRUN = 1000, ARENA_OVERRUN = 1001, TOO_MANY_TENSORS = 1002 };

/* The address sanitizer knows where a block ends; elsewhere a guard does. */
#if defined(__SANITIZE_ADDRESS__)
enum { GUARD_BYTES = 0 };
#else
enum { GUARD_BYTES = 64 };
#endif

typedef void (*batch_task)(void *argument, int32_t part, int32_t parts);

struct batch_part {
    batch_task task;
    void *argument;
    int32_t part, parts;
};

static void *run_part(void *given) {
    const struct batch_part *const p = (const struct batch_part *)given;
    p->task(p->argument, p->part, p->parts);
    return NULL;
}

void batch_parallel_for(void *user, batch_task task, void *argument, int32_t parts);

/* What packages run their parts through: a thread for each part, but for the first. */
void batch_parallel_for(void *user, batch_task task, void *argument, int32_t parts) {
    pthread_t threads[MOST_THREADS];
    struct batch_part all[MOST_THREADS];
    (void)user;
    for (int32_t i = 1; i < parts; i++) {
        all[i] = (struct batch_part){task, argument, i, parts};
        if (pthread_create(&threads[i], NULL, run_part, &all[i]) != 0) exit(2);
    }
    task(argument, 0, parts);
    for (int32_t i = 1; i < parts; i++) pthread_join(threads[i], NULL);
}

/* Memory full of bytes that are NaN as floats and no plausible integer, with a guard behind it. */
static unsigned char *new_block(size_t bytes) {
    unsigned char *const block = (unsigned char *)malloc(bytes + GUARD_BYTES + (bytes + GUARD_BYTES == 0));
    if (block == NULL) exit(2);
    memset(block, 0xff, bytes + GUARD_BYTES);
    return block;
}

static int is_intact(const unsigned char *block, size_t bytes) {
    for (int i = 0; i < GUARD_BYTES; i++) {
        if (block[bytes + (size_t)i] != 0xff) return 0;
    }
    return 1;
}

static int32_t run_case(const struct batch_case *c, const char *isa, int32_t threads) {
    unsigned char *tensors[MOST_TENSORS];
    const int count = c->inputs + c->outputs;
    if (count > MOST_TENSORS) return TOO_MANY_TENSORS;
    for (int i = 0; i < count; i++) {
        tensors[i] = new_block(c->bytes[i]);
        if (i < c->inputs && fread(tensors[i], 1, c->bytes[i], stdin) != c->bytes[i]) exit(2);
    }
    const size_t arena_bytes = c->tensor_bytes + (size_t)threads * c->scratch_bytes;
    unsigned char *const memory = new_block(arena_bytes + 63);
    unsigned char *const arena = memory + (64 - (uintptr_t)memory % 64) % 64;
    int32_t status = c->run(isa, threads, arena, arena_bytes, tensors);
    if (!is_intact(arena, arena_bytes)) status = ARENA_OVERRUN;
    for (int i = c->inputs; i < count; i++) {
        if (!is_intact(tensors[i], c->bytes[i])) status = OUTPUT_OVERRUN;
    }
    fwrite(&status, sizeof status, 1, stdout);
    for (int i = c->inputs; i < count; i++) fwrite(tensors[i], 1, c->bytes[i], stdout);
    fflush(stdout);
    for (int i = 0; i < count; i++) free(tensors[i]);
    free(memory);
    return 0;
}

int main(int argc, char **argv) {
    uint32_t number;
    const int32_t threads = argc > 2 ? atoi(argv[2]) : 1;
    if (threads < 1 || threads > MOST_THREADS) return 2;
    while (fread(&number, sizeof number, 1, stdin) == 1) {
        const int32_t failed = run_case(&batch_cases[number], argc > 1 ? argv[1] : "", threads);
        if (failed != 0) return failed;
    }
    return 0;
}
