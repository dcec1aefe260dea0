/* A Metal for tests: what it shall fail at, and what it was asked. It runs kernels that were compiled for the CPU. */
#pragma once
#include <stdint.h>

/* As tests/gpu/msl compiles them: 0, or `why` it is wrong. */
struct fake_kernel {
    const char *name;
    int (*run[2])(const int *group, const int *grid, unsigned order, unsigned char *const *bytes, const long *sizes, char *why); /* with SIMDGROUPS */
};

struct fake_metal {
    /* faults */
    int devices;              /* how many there are; the default device is the first */
    int no_queue, no_commands, no_encoder;
    int bad_source;           /* the compiler refuses it */
    int bad_pipeline;         /* pipelines that succeed before one fails, plus one; 0: none fails */
    int missing_function;     /* the same of functions */
    int missing_buffer;       /* the same of buffers */
    int most_threads, most_shared, most_bytes;
    int error;                /* code of the error that commands end with */
    int delay_ms;             /* how long commands take */
    int backwards;            /* run the dispatches between two barriers from the last to the first */
    unsigned order;           /* of threads in a dispatch */
    int idle;                 /* kernels do nothing */
    int family;               /* of Apple's GPUs; 0: another's */
    int threads_of_simdgroup;
    int bad_simdgroups;       /* the compiler refuses a source with them */
    /* what happened */
    int safe_math;            /* 1: by mathMode, 2: by fastMathEnabled = NO */
    int alive;                /* objects that are not deallocated */
    int with_simdgroups;      /* kernels that ran in that form */
    int command_buffers, barriers, dispatches, pipelines;
    char *source;             /* the last one, of malloc */
};

extern struct fake_metal fake_metal;
extern const struct fake_kernel fake_kernels[]; /* of the test, ended by a NULL name */

void fake_metal_wait(void); /* until all commands have ended */
