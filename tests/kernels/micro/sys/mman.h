#ifndef SYS_MMAN_H
#define SYS_MMAN_H

#include <stdlib.h>

#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_PRIVATE 0
#define MAP_ANONYMOUS 0
#define MAP_FAILED ((void *)-1)
#define mmap(address, bytes, protection, flags, file, offset) malloc(bytes)
#define munmap(memory, bytes) free(memory)
int mprotect(void *memory, size_t bytes, int rights);

#endif
