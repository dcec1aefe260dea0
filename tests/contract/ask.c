/* Asks NAME whatever comes from standard input: sizes as 32-bit numbers, then the bytes of every input, set after set. It answers
   with the status as a 32-bit number and the bytes of every output. Every piece of memory has exactly the bytes that the interface
   asks for, and ends where a page begins that nobody may touch, or where the address sanitizer knows that it ends.

   ask [ISA] [THREADS] */
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
    fprintf(stderr, "ask: %s\n", what);
    exit(1);
}

static unsigned char *new_block(size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
    void *memory = NULL;
    require(posix_memalign(&memory, 64, bytes) == 0, "memory");
    return (unsigned char *)memset(memory, 0xff, bytes);
#else
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes + page - 1) / page * page;
    unsigned char *const all = (unsigned char *)mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(all != (unsigned char *)MAP_FAILED, "mmap");
    require(inner == 0 || mprotect(all + page, inner, PROT_READ | PROT_WRITE) == 0, "mprotect");
    memset(all + page, 0xff, inner);
    return all + page + inner - bytes;
#endif
}

/* One set; 0 at the end of the input. */
static int answer(NAME_t *instance) {
    int32_t sizes[SIZES + 1] = {0};
    size_t bytes[INPUTS + OUTPUTS];
    unsigned char *tensors[INPUTS + OUTPUTS];
    if (SIZES > 0 && fread(sizes, 4, SIZES, stdin) != SIZES) return 0;
    exam_bytes(sizes, bytes);
    for (int i = 0; i < INPUTS + OUTPUTS; i++) {
        tensors[i] = new_block(bytes[i]);
        if (i < INPUTS && fread(tensors[i], 1, bytes[i], stdin) != bytes[i]) return 0;
    }
    const int32_t status = exam_run(instance, sizes, tensors);
    fwrite(&status, 4, 1, stdout);
    for (int i = INPUTS; i < INPUTS + OUTPUTS; i++) fwrite(tensors[i], 1, bytes[i], stdout);
    return 1;
}

int main(int argc, char **argv) {
    const int threads = argc > 2 ? atoi(argv[2]) : 1;
    const size_t bytes = MACRO_ARENA_BYTES_FOR(threads);
    NAME_t instance;
    require(NAME_init(&instance, new_block(bytes), bytes) == MACRO_OK, "init");
    require(argc < 2 || NAME_force_isa(&instance, argv[1]) == MACRO_OK, "force_isa");
    if (threads > 1) {
        struct NAME_pool *const pool = NAME_pool_start(new_block(MACRO_POOL_BYTES(threads)), MACRO_POOL_BYTES(threads), threads);
        require(NAME_pool_serve(pool, &instance) == MACRO_OK && NAME_set_shares(&instance, threads % 2 == 0 ? 3 : 1, 0) == MACRO_OK, "pool_serve");
    }
    while (answer(&instance)) {
    }
    fflush(stdout);
    _exit(0);
}
