/* What drivers of kernels take of a C library, on a Cortex-M55 without a system: files of the debugger's machine, and memory that nobody gives
   back. What is protected lies in two regions of the memory protection unit, which nobody may touch where they overlap. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "semihosting.h"

#define SYSTEM(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define REGIONS (SYSTEM(0xE000ED90u) >> 8 & 255u)
#define PROTECTION SYSTEM(0xE000ED94u)
#define REGION SYSTEM(0xE000ED98u)
#define FIRST SYSTEM(0xE000ED9Cu)
#define LAST SYSTEM(0xE000EDA0u)

enum { PAGE = 4096, MOST_WORDS = 8 };

/* From board.ld. */
extern uint32_t board_stack_end[], board_zeroes[], board_zeroes_end[];
extern char board_heap[], board_heap_end[];

int driver_main(int argc, char **argv);
void board_start(void);
void board_reset(void);
void board_fault(void);

FILE host_streams[2];
static char *heap = board_heap;

void exit(int status) { host_exit(status); }

void board_fault(void) {
    static const char words[] = "the processor stopped at a fault\n";
    host_write(host_open("/dev/stderr", 11, MODE_APPEND), words, sizeof words - 1);
    exit(1);
}

FILE *fopen(const char *path, const char *mode) {
    FILE *const file = (FILE *)malloc(sizeof *file);
    size_t length = 0;
    while (path[length]) length++;
    *file = host_open(path, (uint32_t)length, mode[0] == 'r' ? MODE_READ : MODE_WRITE);
    return *file < 0 ? 0 : file;
}

int fclose(FILE *file) {
    (void)file;
    return 0;
}

size_t fread(void *to, size_t size, size_t count, FILE *file) {
    size_t got = 0;
    while (got < size * count) {
        const size_t left = (size_t)host_read(*file, (char *)to + got, size * count - got);
        if (left >= size * count - got) break;
        got = size * count - left;
    }
    return got / size;
}

size_t fwrite(const void *from, size_t size, size_t count, FILE *file) {
    return count - (size_t)host_write(*file, from, size * count) / size;
}

long sysconf(int what) {
    (void)what;
    return PAGE;
}

void *malloc(size_t bytes) {
    char *const found = heap;
    heap += (bytes + PAGE - 1) / PAGE * PAGE;
    if (heap > board_heap_end) exit(1);
    return found;
}

void free(void *memory) { (void)memory; }

int mprotect(void *memory, size_t bytes, int rights) {
    static uint32_t turn;
    const uint32_t first = (uint32_t)(uintptr_t)memory;
    uint32_t i;
    (void)rights;
    for (i = 0; i < 2; i++) {
        REGION = turn++ % REGIONS;
        FIRST = first | 1u;                        /* nobody executes it */
        LAST = (first + (uint32_t)bytes - 32) | 1u; /* it counts */
    }
    PROTECTION = 7; /* on, for faults too; elsewhere all is allowed */
    return 0;
}

__attribute__((used, noreturn)) void board_start(void) {
    static char line[512], *words[MOST_WORDS];
    uint32_t *to;
    int count = 0;
    char *at = line;
    for (to = board_zeroes; to < board_zeroes_end; to++) *(volatile uint32_t *)to = 0;
    host_streams[0] = host_open("/dev/stdin", 10, MODE_READ);
    host_streams[1] = host_open("/dev/stdout", 11, MODE_APPEND);
    if (!host_arguments(line, sizeof line)) line[0] = '\0';
    while (*at && count < MOST_WORDS) {
        words[count++] = at;
        while (*at && *at != ' ') at++;
        if (*at) *at++ = '\0';
    }
    exit(driver_main(count, words));
}

__attribute__((naked)) void board_reset(void) {
    __asm__ volatile(
        "ldr r0, =0xE000ED88\n\tldr r1, [r0]\n\torr r1, r1, #0xF00000\n\tstr r1, [r0]\n\tdsb\n\tisb\n\t"
        "ldr r0, =board_stack_end\n\tmov sp, r0\n\tbl board_start\n\t.ltorg");
}

typedef void (*handler)(void);
__attribute__((used, section(".vectors"))) const handler board_vectors[7] = {
    (handler)(uintptr_t)board_stack_end, board_reset, board_fault, board_fault, board_fault, board_fault, board_fault};
