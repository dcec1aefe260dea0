/* What a debugger, or an emulator that stands in for one, does for a processor without a system: Arm's semihosting. */
#ifndef EDGEC_SEMIHOSTING_H
#define EDGEC_SEMIHOSTING_H

#include <stddef.h>
#include <stdint.h>

enum { SYS_OPEN = 0x01, SYS_WRITE = 0x05, SYS_READ = 0x06, SYS_GET_CMDLINE = 0x15, SYS_EXIT = 0x18 };
enum { MODE_READ = 1, MODE_WRITE = 5, MODE_APPEND = 9, STOPPED_WELL = 0x20026, STOPPED_ILL = 0x20023 };

static inline int32_t semihosting(int32_t operation, const void *block) {
    register int32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static inline int32_t host_open(const char *path, uint32_t length, uint32_t mode) {
    const uint32_t block[3] = {(uint32_t)(uintptr_t)path, mode, length};
    return semihosting(SYS_OPEN, block);
}

/* Bytes that were not written. */
static inline int32_t host_write(int32_t file, const void *data, size_t bytes) {
    const uint32_t block[3] = {(uint32_t)file, (uint32_t)(uintptr_t)data, (uint32_t)bytes};
    return semihosting(SYS_WRITE, block);
}

/* Bytes that were not read; at the end of the file that is all of them. */
static inline int32_t host_read(int32_t file, void *data, size_t bytes) {
    const uint32_t block[3] = {(uint32_t)file, (uint32_t)(uintptr_t)data, (uint32_t)bytes};
    return semihosting(SYS_READ, block);
}

/* Whether the host had a command line, which is then in `text`. */
static inline int host_arguments(char *text, size_t bytes) {
    const uint32_t block[2] = {(uint32_t)(uintptr_t)text, (uint32_t)bytes};
    return semihosting(SYS_GET_CMDLINE, block) == 0;
}

__attribute__((noreturn)) static inline void host_exit(int status) {
    for (;;) semihosting(SYS_EXIT, (const void *)(uintptr_t)(status == 0 ? STOPPED_WELL : STOPPED_ILL));
}

#endif
