/* All that NAME needs of a C library in WebAssembly; src/web/memory.c has it. */
#ifndef MACRO_WEB_STRING_H
#define MACRO_WEB_STRING_H

#include <stddef.h>

void *memcpy(void *to, const void *from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int value, size_t count);

#endif
