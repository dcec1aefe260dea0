/* Runs many packages in one process. For every case that it is asked for on stdin (a 32-bit number, then the bytes of the inputs)
   it answers with a 32-bit status and the bytes of the outputs. The first argument names the set of instructions, "" the best one. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct batch_case {
    int (*run)(const char *isa, void *arena, size_t arena_bytes, unsigned char *const *tensors);
    size_t arena_bytes;
    int inputs, outputs;
    const size_t *bytes; /* of the inputs, then of the outputs */
};

extern const struct batch_case batch_cases[];

enum { MOST_TENSORS = 128, OUTPUT_OVERRUN = 1000, ARENA_OVERRUN = 1001, TOO_MANY_TENSORS = 1002 };

/* The address sanitizer knows where a block ends; elsewhere a guard does. */
#if defined(__SANITIZE_ADDRESS__)
enum { GUARD_BYTES = 0 };
#else
enum { GUARD_BYTES = 64 };
#endif

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

static int32_t run_case(const struct batch_case *c, const char *isa) {
    unsigned char *tensors[MOST_TENSORS];
    const int count = c->inputs + c->outputs;
    if (count > MOST_TENSORS) return TOO_MANY_TENSORS;
    for (int i = 0; i < count; i++) {
        tensors[i] = new_block(c->bytes[i]);
        if (i < c->inputs && fread(tensors[i], 1, c->bytes[i], stdin) != c->bytes[i]) exit(2);
    }
    unsigned char *const memory = new_block(c->arena_bytes + 63);
    unsigned char *const arena = memory + (64 - (uintptr_t)memory % 64) % 64;
    int32_t status = c->run(isa, arena, c->arena_bytes, tensors);
    if (!is_intact(arena, c->arena_bytes)) status = ARENA_OVERRUN;
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
    while (fread(&number, sizeof number, 1, stdin) == 1) {
        const int32_t failed = run_case(&batch_cases[number], argc > 1 ? argv[1] : "");
        if (failed != 0) return failed;
    }
    return 0;
}
