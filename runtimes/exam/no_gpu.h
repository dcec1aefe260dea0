/* The exam of NAME and GPUs: the package has nothing for one. */
#ifndef MACRO_EXAM_GPU_H
#define MACRO_EXAM_GPU_H

#include "NAME.h"

/* What the command line says. */
struct gpu_choice {
    int wanted, verify, name, device; /* name: says which one it is, and nothing else */
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

static int close_gpu(struct gpu_exam *gpu, NAME_t *instance) {
    (void)gpu;
    (void)instance;
    return 1;
}

#endif
