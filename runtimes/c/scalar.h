/* Scalar words of the loops. min and max give their second operand where one is NaN, minimum and maximum the NaN. Integer arithmetic
   wraps, and whatever C leaves undefined of it is defined here. */
#ifndef EDGEC_SCALAR_H
#define EDGEC_SCALAR_H

#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define EDGEC_INFINITY __builtin_inff()
#define EDGEC_NAN __builtin_nanf("")
#define EDGEC_MAY_ALIAS __attribute__((may_alias))
#define EDGEC_RESTRICT __restrict__
#else
#include <math.h>
#define EDGEC_INFINITY INFINITY
#define EDGEC_NAN NAN
#define EDGEC_MAY_ALIAS
#define EDGEC_RESTRICT
#endif

/* For loops that compute in place between types of one size: without it, compilers may assume that they are apart. */
typedef float EDGEC_MAY_ALIAS float_alias;
typedef double EDGEC_MAY_ALIAS double_alias;
typedef int8_t EDGEC_MAY_ALIAS int8_t_alias;
typedef uint8_t EDGEC_MAY_ALIAS uint8_t_alias;
typedef int16_t EDGEC_MAY_ALIAS int16_t_alias;
typedef uint16_t EDGEC_MAY_ALIAS uint16_t_alias;
typedef int32_t EDGEC_MAY_ALIAS int32_t_alias;
typedef uint32_t EDGEC_MAY_ALIAS uint32_t_alias;
typedef int64_t EDGEC_MAY_ALIAS int64_t_alias;
typedef uint64_t EDGEC_MAY_ALIAS uint64_t_alias;

static inline float edgec_min_f(float a, float b) { return a < b ? a : b; }
static inline float edgec_max_f(float a, float b) { return a > b ? a : b; }
static inline double edgec_min_d(double a, double b) { return a < b ? a : b; }
static inline double edgec_max_d(double a, double b) { return a > b ? a : b; }
static inline float edgec_minimum_f(float a, float b) { return ((a < b) | (a != a)) ? a : b; }
static inline float edgec_maximum_f(float a, float b) { return ((a > b) | (a != a)) ? a : b; }
static inline double edgec_minimum_d(double a, double b) { return a < b || a != a ? a : b; }
static inline double edgec_maximum_d(double a, double b) { return a > b || a != a ? a : b; }
static inline int32_t edgec_min_i32(int32_t a, int32_t b) { return a < b ? a : b; }
static inline int32_t edgec_max_i32(int32_t a, int32_t b) { return a > b ? a : b; }
static inline uint32_t edgec_min_u32(uint32_t a, uint32_t b) { return a < b ? a : b; }
static inline uint32_t edgec_max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }
static inline int64_t edgec_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t edgec_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline uint64_t edgec_min_u64(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t edgec_max_u64(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Before a loop over the parts of an extreme: gcc makes vectors of it only while it is a loop. And before one of two rounds that reads what
   a condition allows: of both rounds together gcc 12 makes masked reads with a wrong mask. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 8
#define EDGEC_STAYS_A_LOOP _Pragma("GCC unroll 1")
#else
#define EDGEC_STAYS_A_LOOP
#endif

/* Sixteen parts of a total become one, each joined with the one half of them further on, and then the total with it. */
#define EDGEC_JOIN(name, of) \
    static inline float edgec_join_##name(float total, const float *parts) { \
        float eight[8], four[4]; \
        int32_t i; \
        for (i = 0; i < 8; i++) eight[i] = of(parts[i], parts[i + 8]); \
        for (i = 0; i < 4; i++) four[i] = of(eight[i], eight[i + 4]); \
        return of(total, of(of(four[0], four[2]), of(four[1], four[3]))); \
    }
#define EDGEC_SUM(a, b) ((a) + (b))
#define EDGEC_PRODUCT(a, b) ((a) * (b))
EDGEC_JOIN(add, EDGEC_SUM)
EDGEC_JOIN(mul, EDGEC_PRODUCT)
EDGEC_JOIN(min, edgec_min_f)
EDGEC_JOIN(max, edgec_max_f)
EDGEC_JOIN(minimum, edgec_minimum_f)
EDGEC_JOIN(maximum, edgec_maximum_f)

/* The sign bit alone changes, so that -0 and NaN behave as in IEEE 754. */
static inline float edgec_abs_f(float a) {
    uint32_t bits;
    memcpy(&bits, &a, sizeof bits);
    bits &= 0x7fffffffu;
    memcpy(&a, &bits, sizeof bits);
    return a;
}

static inline double edgec_abs_d(double a) { return a > 0.0 ? a : 0.0 - a; }

/* Signed integers: the low bits of the sum, difference, product, so that the least number is its own negative. */
static inline int32_t edgec_add_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
static inline int32_t edgec_sub_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a - (uint32_t)b); }
static inline int32_t edgec_mul_i32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a * (uint32_t)b); }
static inline uint32_t edgec_mul_u32(uint32_t a, uint32_t b) { return a * b; }
static inline int32_t edgec_neg_i32(int32_t a) { return (int32_t)(0u - (uint32_t)a); }
static inline int32_t edgec_abs_i32(int32_t a) { return a < 0 ? edgec_neg_i32(a) : a; }
static inline int64_t edgec_add_i64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t edgec_sub_i64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }
static inline int64_t edgec_mul_i64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }
static inline int64_t edgec_neg_i64(int64_t a) { return (int64_t)(UINT64_C(0) - (uint64_t)a); }
static inline int64_t edgec_abs_i64(int64_t a) { return a < 0 ? edgec_neg_i64(a) : a; }
static inline uint32_t edgec_abs_u32(uint32_t a) { return a; }
static inline uint64_t edgec_abs_u64(uint64_t a) { return a; }

/* Towards zero; x / 0 and x mod 0 are 0, and the least number / -1 is itself. */
static inline int32_t edgec_div_i32(int32_t a, int32_t b) { return b == 0 ? 0 : b == -1 ? edgec_neg_i32(a) : a / b; }
static inline int32_t edgec_mod_i32(int32_t a, int32_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static inline int64_t edgec_div_i64(int64_t a, int64_t b) { return b == 0 ? 0 : b == -1 ? edgec_neg_i64(a) : a / b; }
static inline int64_t edgec_mod_i64(int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }
static inline uint32_t edgec_div_u32(uint32_t a, uint32_t b) { return b == 0 ? 0 : a / b; }
static inline uint32_t edgec_mod_u32(uint32_t a, uint32_t b) { return b == 0 ? 0 : a % b; }
static inline uint64_t edgec_div_u64(uint64_t a, uint64_t b) { return b == 0 ? 0 : a / b; }
static inline uint64_t edgec_mod_u64(uint64_t a, uint64_t b) { return b == 0 ? 0 : a % b; }

/* The low bits of a^b; for b < 0 1 / a^-b towards zero, 0 for a = 0. */
static inline uint64_t edgec_pow_u64(uint64_t a, int64_t b) {
    uint64_t result = 1;
    if (b < 0) return a == 1;
    for (; b != 0; b >>= 1, a *= a) result = b & 1 ? result * a : result;
    return result;
}
static inline int64_t edgec_pow_i64(int64_t a, int64_t b) {
    if (b < 0) return a == 1 || a == -1 ? (b & 1 ? a : 1) : 0;
    return (int64_t)edgec_pow_u64((uint64_t)a, b);
}

/* A float as an integer, towards zero. What the type cannot hold as a signed or an unsigned number of its width is the least signed
   one, as of x86-64: so is NaN. (As unsigned numbers what is too large is 0.) */
#define EDGEC_TO_INTEGER(real, kind, suffix) \
    static inline int32_t edgec_to_i32_##kind(real x) { \
        const real inside = x >= -2147483648.0##suffix && x < 2147483648.0##suffix ? x : -2147483648.0##suffix; \
        return (int32_t)inside; \
    } \
    static inline int64_t edgec_to_i64_##kind(real x) { \
        const real inside = x >= -9223372036854775808.0##suffix && x < 9223372036854775808.0##suffix ? x : -9223372036854775808.0##suffix; \
        return (int64_t)inside; \
    } \
    static inline uint32_t edgec_to_u32_##kind(real x) { \
        if (!(x >= 2147483648.0##suffix)) return (uint32_t)edgec_to_i32_##kind(x); \
        return x < 4294967296.0##suffix ? (uint32_t)x : 0; \
    } \
    static inline uint64_t edgec_to_u64_##kind(real x) { \
        if (!(x >= 9223372036854775808.0##suffix)) return (uint64_t)edgec_to_i64_##kind(x); \
        return x < 18446744073709551616.0##suffix ? (uint64_t)x : 0; \
    }
EDGEC_TO_INTEGER(float, f, f)
EDGEC_TO_INTEGER(double, d, )

/* binary16, held as its bits. To binary32 exactly; back with one rounding to nearest even, and NaN to one of two. */
#if defined(__aarch64__) && defined(__GNUC__)
#include <arm_neon.h>
static inline float edgec_half_to_float(uint16_t half) {
    __fp16 value;
    memcpy(&value, &half, sizeof value);
    return value;
}

static inline uint16_t edgec_float_to_half(float value) {
    const __fp16 half = value;
    uint32_t sign;
    uint16_t bits;
    memcpy(&sign, &value, sizeof sign);
    memcpy(&bits, &half, sizeof bits);
    return value != value ? (uint16_t)((sign >> 16 & 0x8000u) | 0x7e00u) : bits;
}

static inline uint16x8_t edgec_eight_halves(const float *x) {
    const float32x4_t low = vdupq_n_f32(-65504.0f), high = vdupq_n_f32(65504.0f);
    const float16x4_t first = vcvt_f16_f32(vminq_f32(vmaxq_f32(vld1q_f32(x), low), high));
    const float16x8_t both = vcvt_high_f16_f32(first, vminq_f32(vmaxq_f32(vld1q_f32(x + 4), low), high));
    const uint16x8_t bits = vreinterpretq_u16_f16(both), nan = vcgtq_u16(vshlq_n_u16(bits, 1), vdupq_n_u16(0xf800));
    return vbicq_u16(bits, vandq_u16(nan, vdupq_n_u16(0x1ff)));
}

/* As many as there are eight of each plane, from `begin` on: where it ends. */
static inline int32_t edgec_most_halves(const float *x, int32_t plane, int32_t planes, uint16_t *y, int32_t begin, int32_t end) {
    for (; begin <= end - 8; begin += 8) {
        uint16x8x4_t found = {{vdupq_n_u16(0)}};
        int32_t j;
        for (j = 0; j < planes; j++) found.val[j] = edgec_eight_halves(x + (size_t)j * (size_t)plane + begin);
        if (planes == 1) {
            vst1q_u16(y + begin, found.val[0]);
        } else if (planes == 2) {
            const uint16x8x2_t two = {{found.val[0], found.val[1]}};
            vst2q_u16(y + (size_t)begin * 2, two);
        } else if (planes == 3) {
            const uint16x8x3_t three = {{found.val[0], found.val[1], found.val[2]}};
            vst3q_u16(y + (size_t)begin * 3, three);
        } else {
            vst4q_u16(y + (size_t)begin * 4, found);
        }
    }
    return begin;
}
#else
static inline float edgec_half_to_float(uint16_t half) {
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = (half >> 10) & 31u, fraction = half & 0x3ffu;
    uint32_t bits;
    float value;
    if (exponent == 0) {
        value = (float)fraction * (1.0f / 16777216.0f);
        memcpy(&bits, &value, sizeof bits);
    } else {
        bits = (exponent == 31 ? 255u << 23 : (exponent + 112u) << 23) | fraction << 13;
    }
    bits |= sign;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint16_t edgec_float_to_half(float value) {
    uint32_t bits, magnitude, fraction, shift, kept, lost, middle;
    memcpy(&bits, &value, sizeof bits);
    magnitude = bits & 0x7fffffffu;
    const uint32_t sign = bits >> 16 & 0x8000u;
    if (magnitude > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x33000000u) return (uint16_t)sign;
    if (magnitude >= 0x38800000u) { /* normal: rebias, keep 10 bits */
        fraction = magnitude - (112u << 23);
        shift = 13;
    } else {
        fraction = (magnitude & 0x7fffffu) | 0x800000u;
        shift = 126u - (magnitude >> 23);
    }
    kept = fraction >> shift;
    lost = fraction & ((1u << shift) - 1u);
    middle = 1u << (shift - 1u);
    return (uint16_t)(sign | (kept + (lost > middle || (lost == middle && (kept & 1u)))));
}

static inline int32_t edgec_most_halves(const float *x, int32_t plane, int32_t planes, uint16_t *y, int32_t begin, int32_t end) {
    (void)x, (void)plane, (void)planes, (void)y, (void)end;
    return begin;
}
#endif

/* y[i * planes + j] = x[j * plane + i] in the range of binary16, and rounded to it: at most 4 planes, i from begin to end. */
static inline void edgec_halves(const float *x, int32_t plane, int32_t planes, uint16_t *y, int32_t begin, int32_t end) {
    int32_t i, j;
    for (i = edgec_most_halves(x, plane, planes, y, begin, end); i < end; i++)
        for (j = 0; j < planes; j++)
            y[(size_t)i * (size_t)planes + (size_t)j] =
                edgec_float_to_half(edgec_min_f(65504.0f, edgec_max_f(-65504.0f, x[(size_t)j * (size_t)plane + (size_t)i])));
}

/* bfloat16: the upper half of a binary32. */
static inline float edgec_bfloat_to_float(uint16_t half) {
    const uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint16_t edgec_float_to_bfloat(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* The float next to a double, the one whose last bit is set where there are two: rounded again to fewer bits, it is as if rounded once. */
static inline float edgec_odd_float(double value) {
    float near = (float)value;
    uint32_t bits;
    const double back = (double)near;
    memcpy(&bits, &near, sizeof bits);
    if (back == value || value != value || (bits & 1u)) return near;
    bits = (back < value) != (bits >> 31 != 0u) ? bits + 1u : bits - 1u;
    memcpy(&near, &bits, sizeof near);
    return near;
}

#endif
