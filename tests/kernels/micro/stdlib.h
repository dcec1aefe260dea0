#ifndef STDLIB_H
#define STDLIB_H

#include <stddef.h>

void *malloc(size_t bytes);
void free(void *memory);
__attribute__((noreturn)) void exit(int status);

#endif
