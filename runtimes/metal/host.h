/* The shaders of NAME as the Metal host sees them. Made by NAME_metal_source.c. */
#ifndef MACRO_METAL_H
#define MACRO_METAL_H

#include <stdint.h>

/* A call's kernel; `name` is NULL where the call runs on the CPU. */
struct NAME_metal_kernel {
    const char *name;    /* of the function in the Metal source */
    uint32_t grid[3];    /* threadgroups */
    uint32_t group[3];   /* threads of one */
    uint32_t shared_bytes; /* of threadgroup memory */
    int32_t barrier;     /* wait for the segment's earlier calls first */
};

extern const struct NAME_metal_kernel NAME_metal_kernels[]; /* one for each call */
extern const int32_t NAME_metal_segment_end[];              /* for NAME_offload */
extern const char *const NAME_metal_source[];               /* whole lines of UTF-8, ended by NULL */

#endif
