/* What compilers for 32-bit ARM call by themselves (the run-time ABI of the Arm architecture): divisions, shifts and conversions that
   have no instruction there, and their own names for memcpy and its kin. Division by zero gives zero, as Arm's own instructions do. */
#include <stddef.h>
#include <stdint.h>

#if defined(__arm__)

#define CALLED __attribute__((used, pcs("aapcs")))

void *memcpy(void *to, const void *from, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
void *memset(void *to, int value, size_t bytes);

#define ALIASES(end) \
    CALLED void __aeabi_memcpy##end(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); } \
    CALLED void __aeabi_memmove##end(void *to, const void *from, size_t bytes) { memmove(to, from, bytes); } \
    CALLED void __aeabi_memset##end(void *to, size_t bytes, int value) { memset(to, value, bytes); } \
    CALLED void __aeabi_memclr##end(void *to, size_t bytes) { memset(to, 0, bytes); }
ALIASES()
ALIASES(4)
ALIASES(8)

/* Long division, a bit at a time from the highest one that counts. */
static uint32_t divide_32(uint32_t n, uint32_t d, uint32_t *rest) {
    uint32_t quotient = 0;
    int shift = d == 0 ? -1 : __builtin_clz(d) - (n == 0 ? 32 : __builtin_clz(n));
    for (; shift >= 0; shift--) {
        if (n >= d << shift) {
            n -= d << shift;
            quotient |= 1u << shift;
        }
    }
    *rest = n;
    return quotient;
}

static int leading_zeros(uint64_t n) {
    const uint32_t high = (uint32_t)(n >> 32), low = (uint32_t)n;
    return high != 0 ? __builtin_clz(high) : low != 0 ? 32 + __builtin_clz(low) : 64;
}

static uint64_t divide_64(uint64_t n, uint64_t d, uint64_t *rest) {
    uint64_t quotient = 0;
    int shift = d == 0 ? -1 : leading_zeros(d) - leading_zeros(n);
    uint64_t part = shift > 0 ? d << shift : d;
    for (; shift >= 0; shift--, part >>= 1) {
        quotient <<= 1;
        if (n >= part) {
            n -= part;
            quotient |= 1u;
        }
    }
    *rest = n;
    return quotient;
}

static uint32_t size_of(int32_t n) { return n < 0 ? 0u - (uint32_t)n : (uint32_t)n; }

CALLED uint32_t __aeabi_uidiv(uint32_t n, uint32_t d) {
    uint32_t rest;
    return divide_32(n, d, &rest);
}

/* The quotient in r0, the rest in r1. */
CALLED uint64_t __aeabi_uidivmod(uint32_t n, uint32_t d) {
    uint32_t rest;
    const uint32_t quotient = divide_32(n, d, &rest);
    return (uint64_t)rest << 32 | quotient;
}

CALLED uint64_t __aeabi_idivmod(int32_t n, int32_t d) {
    uint32_t rest, quotient = divide_32(size_of(n), size_of(d), &rest);
    if ((n < 0) != (d < 0)) quotient = 0u - quotient;
    if (n < 0) rest = 0u - rest;
    return (uint64_t)rest << 32 | quotient;
}

CALLED int32_t __aeabi_idiv(int32_t n, int32_t d) { return (int32_t)(uint32_t)__aeabi_idivmod(n, d); }

CALLED uint64_t edgec_uldivmod(uint64_t n, uint64_t d, uint64_t *rest) { return divide_64(n, d, rest); }

CALLED uint64_t edgec_ldivmod(int64_t n, int64_t d, uint64_t *rest) {
    uint64_t quotient = divide_64(n < 0 ? 0u - (uint64_t)n : (uint64_t)n, d < 0 ? 0u - (uint64_t)d : (uint64_t)d, rest);
    if (n < 0) *rest = 0u - *rest;
    return (n < 0) != (d < 0) ? 0u - quotient : quotient;
}

/* The quotient in r0 and r1, the rest in r2 and r3. */
#define DIVIDE(name, by) \
    __attribute__((naked, used)) void name(void) { \
        __asm__("push {r4, lr}\n\tsub sp, #16\n\tadd r4, sp, #8\n\tstr r4, [sp]\n\tbl " #by "\n\t" \
                "ldr r2, [sp, #8]\n\tldr r3, [sp, #12]\n\tadd sp, #16\n\tpop {r4, pc}"); \
    }
DIVIDE(__aeabi_ldivmod, edgec_ldivmod)
DIVIDE(__aeabi_uldivmod, edgec_uldivmod)

static uint64_t joined(uint32_t high, uint32_t low) { return (uint64_t)high << 32 | low; }

CALLED uint64_t __aeabi_llsl(uint64_t n, int32_t by) {
    const uint32_t high = (uint32_t)(n >> 32), low = (uint32_t)n;
    if (by == 0) return n;
    return by >= 32 ? joined(low << (by & 31), 0) : joined(high << by | low >> (32 - by), low << by);
}

CALLED uint64_t __aeabi_llsr(uint64_t n, int32_t by) {
    const uint32_t high = (uint32_t)(n >> 32), low = (uint32_t)n;
    if (by == 0) return n;
    return by >= 32 ? high >> (by & 31) : joined(high >> by, low >> by | high << (32 - by));
}

CALLED int64_t __aeabi_lasr(int64_t n, int32_t by) {
    const int32_t high = (int32_t)(n >> 32);
    const uint32_t low = (uint32_t)n;
    if (by == 0) return n;
    if (by >= 32) return (int64_t)joined((uint32_t)(high >> 31), (uint32_t)(high >> (by & 31)));
    return (int64_t)joined((uint32_t)(high >> by), low >> by | (uint32_t)high << (32 - by));
}

/* Both halves are exact, so the sum is the only rounding. */
CALLED double __aeabi_ul2d(uint64_t n) { return (double)(uint32_t)(n >> 32) * 4294967296.0 + (double)(uint32_t)n; }
CALLED double __aeabi_l2d(int64_t n) { return (double)(int32_t)(n >> 32) * 4294967296.0 + (double)(uint32_t)n; }

/* Rounded once, without doubles, which many of these processors lack: what does not fit into 32 bits leaves a sticky bit, below those
   that a float keeps. */
static float rounded(uint64_t n) {
    float unit = 1.0f;
    for (; n >> 32 != 0; unit *= 2.0f) n = n >> 1 | (n & 1u);
    return (float)(uint32_t)n * unit;
}
CALLED float __aeabi_ul2f(uint64_t n) { return rounded(n); }
CALLED float __aeabi_l2f(int64_t n) { return n < 0 ? -rounded(0u - (uint64_t)n) : rounded((uint64_t)n); }

CALLED uint64_t __aeabi_d2ulz(double x) {
    if (!(x >= 1.0)) return 0;
    if (x >= 18446744073709551616.0) return UINT64_MAX;
    const uint32_t high = (uint32_t)(x * (1.0 / 4294967296.0));
    return joined(high, (uint32_t)(x - (double)high * 4294967296.0));
}
CALLED int64_t __aeabi_d2lz(double x) {
    if (x >= 9223372036854775808.0) return INT64_MAX;
    if (x <= -9223372036854775808.0) return INT64_MIN;
    return x < 0 ? -(int64_t)__aeabi_d2ulz(-x) : (int64_t)__aeabi_d2ulz(x);
}
CALLED uint64_t __aeabi_f2ulz(float x) { return __aeabi_d2ulz((double)x); }
CALLED int64_t __aeabi_f2lz(float x) { return __aeabi_d2lz((double)x); }

#else

typedef int not_for_this_processor;

#endif
