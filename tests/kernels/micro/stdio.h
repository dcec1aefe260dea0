#ifndef STDIO_H
#define STDIO_H

#include <stddef.h>
#include <stdint.h>

typedef int32_t FILE; /* as the debugger's machine numbers them */
extern FILE host_streams[2];
#define stdin (&host_streams[0])
#define stdout (&host_streams[1])

FILE *fopen(const char *path, const char *mode);
int fclose(FILE *file);
size_t fread(void *to, size_t size, size_t count, FILE *file);
size_t fwrite(const void *from, size_t size, size_t count, FILE *file);

#endif
