/* The three functions that compilers call by themselves. Engines with SIMD copy by one instruction, the others by these loops. */
#include <stddef.h>
#include <string.h>

#if defined(__wasm_bulk_memory__)

void *memcpy(void *to, const void *from, size_t count) { return __builtin_memcpy(to, from, count); }
void *memmove(void *to, const void *from, size_t count) { return __builtin_memmove(to, from, count); }
void *memset(void *to, int value, size_t count) { return __builtin_memset(to, value, count); }

#else

#define ITSELF __attribute__((no_builtin("memcpy", "memmove", "memset"))) /* no loop becomes a call of the function that it is in */

ITSELF void *memcpy(void *to, const void *from, size_t count) {
    unsigned char *out = (unsigned char *)to;
    const unsigned char *in = (const unsigned char *)from;
    for (; count >= 8; count -= 8, out += 8, in += 8) {
        unsigned long long eight;
        __builtin_memcpy(&eight, in, 8);
        __builtin_memcpy(out, &eight, 8);
    }
    for (; count > 0; count--) *out++ = *in++;
    return to;
}

ITSELF void *memmove(void *to, const void *from, size_t count) {
    unsigned char *out = (unsigned char *)to;
    const unsigned char *in = (const unsigned char *)from;
    if ((size_t)(out - in) >= count) return memcpy(to, from, count);
    while (count > 0) {
        count--;
        out[count] = in[count];
    }
    return to;
}

ITSELF void *memset(void *to, int value, size_t count) {
    unsigned char *out = (unsigned char *)to;
    const unsigned long long eight = (unsigned char)value * 0x0101010101010101ull;
    for (; count >= 8; count -= 8, out += 8) __builtin_memcpy(out, &eight, 8);
    for (; count > 0; count--) *out++ = (unsigned char)value;
    return to;
}

#endif
