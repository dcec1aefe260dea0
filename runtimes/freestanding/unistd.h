/* Given by the process, or not: see pthread.h. */
#ifndef EDGEC_UNISTD_H
#define EDGEC_UNISTD_H

#include <stddef.h>

__attribute__((weak)) long read(int file, void *to, size_t bytes);
__attribute__((weak)) int close(int file);

#endif
