/* The exam of NAME and GPUs: the package has nothing for one. */
#ifndef MACRO_EXAM_GPU_H
#define MACRO_EXAM_GPU_H

#include "NAME.h"

/* What the command line says. */
struct gpu_choice {
    int wanted, verify, name, apart, device; /* name: says which one it is, and nothing else; apart: each call by itself */
    const char *variant, *cache_path;
};

struct gpu_exam {
    void *memory;
};

/* NULL, or why the GPU cannot be used. */
static const char *open_gpu(struct gpu_exam *gpu, NAME_t *instance, const struct gpu_choice *choice) {
    (void)gpu;
    (void)instance;
    (void)choice;
    return "the package has nothing for one";
}

static const char *gpu_name(const NAME_t *instance) {
    (void)instance;
    return "none";
}

static int gpu_nothing(NAME_t *instance) {
    (void)instance;
    return MACRO_BAD_ARGUMENT;
}

static int close_gpu(struct gpu_exam *gpu, NAME_t *instance) {
    (void)gpu;
    (void)instance;
    return 1;
}

#endif
