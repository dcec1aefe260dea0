/* Given by the process, or not: see pthread.h. */
#ifndef EDGEC_FCNTL_H
#define EDGEC_FCNTL_H

#define O_RDONLY 0

__attribute__((weak)) int open(const char *path, int flags, ...);

#endif
