/* What the sources of packages need of this header where they are linked without a C library. memory.c has the functions. */
#ifndef EDGEC_STRING_H
#define EDGEC_STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);

/* compilers put a few instructions in place of a small one only under these names */
#define memcpy __builtin_memcpy
#define memmove __builtin_memmove
#define memset __builtin_memset

#endif
