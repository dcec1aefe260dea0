/* Two instances of NAME in two threads, each with a GPU of its own: every answer of both must be that of the exam, which is exact. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "NAME_exam.h"
#include "NAME_gpu.h"

enum { ROUNDS = 3, TENSORS = INPUTS + OUTPUTS };

static void note(void *user, const char *text) {
    ++*(int *)user;
    fprintf(stderr, "%s\n", text);
}

static void *allocate(size_t bytes) {
    void *memory = NULL;
    if (posix_memalign(&memory, MACRO_ARENA_ALIGNMENT, bytes + MACRO_ARENA_ALIGNMENT) != 0) exit(2);
    return memory;
}

/* NULL when all is right. */
static void *live(void *unused) {
    unsigned char *const arena = allocate(MACRO_ARENA_BYTES), *const memory = allocate(MACRO_GPU_BYTES), *tensors[TENSORS];
    struct NAME_gpu_options options;
    NAME_t instance;
    int messages = 0, wrong = 0;
    (void)unused;
    memset(&options, 0, sizeof options);
    options.timeout_seconds = 300.0;
    options.message = note;
    options.user = &messages;
    for (int i = 0; i < TENSORS; i++) tensors[i] = allocate(exam_ports[i].bytes);
    if (NAME_init(&instance, arena, MACRO_ARENA_BYTES) != MACRO_OK) return "init";
    if (NAME_gpu_start(&instance, memory, MACRO_GPU_BYTES, &options) != MACRO_OK) return "start";
    for (int round = 0; round < ROUNDS * VECTORS; round++) {
        const struct exam_vector *const vector = &exam_vectors[round % VECTORS];
        for (int i = 0; i < TENSORS; i++) memcpy(tensors[i], exam_data() + vector->tensors[i].offset, i < INPUTS ? vector->tensors[i].bytes : 0);
        if (exam_run(&instance, vector->sizes, tensors) != MACRO_OK) return "run";
        for (int i = INPUTS; i < TENSORS; i++) wrong += memcmp(tensors[i], exam_data() + vector->tensors[i].offset, vector->tensors[i].bytes) != 0;
    }
    NAME_gpu_stop(&instance);
    for (int i = 0; i < TENSORS; i++) free(tensors[i]);
    free(memory);
    free(arena);
    return wrong > 0 ? "answers" : messages > 0 ? "messages" : NULL;
}

int main(void) {
    pthread_t threads[2];
    void *found[2];
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, live, NULL) != 0) return 2;
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], &found[i]);
    for (int i = 0; i < 2; i++) printf("%s\n", found[i] == NULL ? "right" : (const char *)found[i]);
    return 0;
}
