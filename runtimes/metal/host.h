/* The shaders of NAME as the Metal host reads them, from NAME_metal_source.c. */
#ifndef MACRO_METAL_H
#define MACRO_METAL_H

#include "NAME_gpu_tables.h"

/* A kernel, and how it is dispatched. */
struct NAME_metal_kernel {
    const char *name;
    uint32_t group[3], grid[3], shared_bytes;
};

extern const char *const NAME_metal_source[]; /* whole lines of Metal source; then NULL */

/* For each of NAME_shaders the kernel for any device, and the one for devices whose simdgroups share registers and multiply
   matrices. Those are in the source when SIMDGROUPS is defined before it. */
extern const struct NAME_metal_kernel NAME_metal_kernels[2][SHADERS + 1];

#endif
