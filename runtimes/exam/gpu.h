/* The exam of NAME on a GPU. */
#ifndef MACRO_EXAM_GPU_H
#define MACRO_EXAM_GPU_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "NAME_gpu.h"

/* What the command line says. */
struct gpu_choice {
    int wanted, verify, name, apart, device; /* name: says which one it is, and nothing else; apart: each call by itself */
    const char *variant, *cache_path;
};

struct gpu_exam {
    void *memory;
    int messages;
};

static void note_message(void *user, const char *text) {
    struct gpu_exam *const gpu = (struct gpu_exam *)user;
    gpu->messages++;
    fprintf(stderr, "NAME_exam: %s\n", text);
}

/* NULL, or why the GPU cannot be used. */
static const char *open_gpu(struct gpu_exam *gpu, NAME_t *instance, const struct gpu_choice *choice) {
    struct NAME_gpu_options options;
    memset(&options, 0, sizeof options);
    options.cache_path = choice->cache_path;
    options.variant = choice->variant;
    options.device = choice->device;
    options.verify = choice->verify;
    options.apart = choice->apart;
    options.timeout_seconds = 300.0; /* the exam asks for right answers, from software on a busy machine too */
    options.message = note_message;
    options.user = gpu;
    if (posix_memalign(&gpu->memory, MACRO_ARENA_ALIGNMENT, MACRO_GPU_BYTES) != 0) return "out of memory";
    const int status = NAME_gpu_start(instance, gpu->memory, MACRO_GPU_BYTES, &options);
    return status == MACRO_OK ? NULL : NAME_strerror(status);
}

static const char *gpu_name(const NAME_t *instance) {
    return NAME_gpu_device(instance);
}

static int gpu_nothing(NAME_t *instance) {
    return NAME_gpu_nothing(instance);
}

/* Whether nobody complained. */
static int close_gpu(struct gpu_exam *gpu, NAME_t *instance) {
    NAME_gpu_stop(instance);
    free(gpu->memory);
    return gpu->messages == 0;
}

#endif
