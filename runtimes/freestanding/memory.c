/* memcpy, memmove and memset for a library that is linked without a C library. The empty assembler keeps compilers from putting a
   call of the same function in place of its loop. */
#include <stddef.h>
#include <stdint.h>

#define STAYS_A_LOOP __asm__ volatile("" ::: "memory")

typedef unsigned char block __attribute__((vector_size(16), aligned(1), may_alias));

static void copy_forward(unsigned char *to, const unsigned char *from, size_t bytes) {
    for (; bytes >= sizeof(block); bytes -= sizeof(block), from += sizeof(block), to += sizeof(block)) {
        *(block *)to = *(const block *)from;
        STAYS_A_LOOP;
    }
    for (; bytes > 0; bytes--) {
        *to++ = *from++;
        STAYS_A_LOOP;
    }
}

void *memcpy(void *to, const void *from, size_t bytes) {
    copy_forward((unsigned char *)to, (const unsigned char *)from, bytes);
    return to;
}

void *memmove(void *to, const void *from, size_t bytes) {
    unsigned char *const y = (unsigned char *)to;
    const unsigned char *const x = (const unsigned char *)from;
    if ((uintptr_t)y - (uintptr_t)x >= bytes) {
        copy_forward(y, x, bytes);
    } else {
        while (bytes-- > 0) {
            y[bytes] = x[bytes];
            STAYS_A_LOOP;
        }
    }
    return to;
}

void *memset(void *to, int value, size_t bytes) {
    unsigned char *y = (unsigned char *)to;
    const block blocks = (block){0} + (unsigned char)value;
    for (; bytes >= sizeof(block); bytes -= sizeof(block), y += sizeof(block)) {
        *(block *)y = blocks;
        STAYS_A_LOOP;
    }
    for (; bytes > 0; bytes--) {
        *y++ = (unsigned char)value;
        STAYS_A_LOOP;
    }
    return to;
}
