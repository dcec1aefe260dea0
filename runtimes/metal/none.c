/* In place of the Metal host, where the package is built without Objective-C: there is no GPU, and everything runs on the CPU. */
#include "NAME_gpu.h"

int NAME_gpu_start(NAME_t *instance, void *memory, size_t bytes, const struct NAME_gpu_options *options) {
    if (instance == NULL || memory == NULL || bytes < MACRO_GPU_BYTES) return MACRO_BAD_ARGUMENT;
    if (instance->kernels == NULL) return MACRO_NOT_INITIALIZED;
    if (options != NULL && options->message != NULL) options->message(options->user, "Metal: this library was built without its host, NAME_metal.m");
    return MACRO_NO_GPU;
}

void NAME_gpu_stop(NAME_t *instance) { (void)instance; }

const char *NAME_gpu_device(const NAME_t *instance) {
    (void)instance;
    return "none";
}
