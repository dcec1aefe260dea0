/* Scalar functions of emitted code: no libm, the same bits on every processor.
 *
 * Each function is a fixed sequence of IEEE operations (+ - * / and integer work on the bits), written so that compilers
 * vectorize it and never contract it (the including file turns contraction off before this header). Polynomials are
 * minimax fits; the unit of the error bounds is one last place of the result. Results of edgec_expf below 2^-126 are 0.
 */
#ifndef EDGEC_MATH_H
#define EDGEC_MATH_H

#include <stdint.h>
#include <string.h>
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
#endif

/* Loops with a call in them are not vectorized, and gcc -O2 leaves longer functions calls. */
#if defined(__GNUC__) && defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__)
#define EDGEC_IN_LOOPS static inline __attribute__((always_inline))
#else
#define EDGEC_IN_LOOPS static inline
#endif

static inline uint32_t edgec_bits(float x) { uint32_t u; memcpy(&u, &x, sizeof u); return u; }
static inline float edgec_float(uint32_t u) { float x; memcpy(&x, &u, sizeof x); return x; }
static inline uint64_t edgec_bits64(double x) { uint64_t u; memcpy(&u, &x, sizeof u); return u; }
static inline double edgec_double(uint64_t u) { double x; memcpy(&x, &u, sizeof x); return x; }

static inline float edgec_fabsf(float x) { return edgec_float(edgec_bits(x) & 0x7fffffffu); }
static inline float edgec_copysignf(float x, float sign) {
    return edgec_float((edgec_bits(x) & 0x7fffffffu) | (edgec_bits(sign) & 0x80000000u));
}

/* The first argument only when the comparison holds: a NaN in either gives b. */
static inline float edgec_fmaxf(float a, float b) { return a > b ? a : b; }
static inline float edgec_fminf(float a, float b) { return a < b ? a : b; }

/* Nearest integer, ties to even: adding 2^23 leaves no fraction bits, and larger numbers have none. */
static inline float edgec_rintf(float x) {
    float a = edgec_fabsf(x);
    float r = (a + 8388608.0f) - 8388608.0f;
    return edgec_copysignf(a < 8388608.0f ? r : x, x);
}
/* The same as an integer, of a number within 2^22 of 0: 1.5 * 2^23 + x has no fraction bits either, and its last bits are the result. */
static inline int32_t edgec_nearest(float x) { return (int32_t)edgec_bits(x + 12582912.0f) - 0x4b400000; }
/* edgec_nearest of a number within bounds; the second one is 0 where `known` is a NaN, whatever x is. Bounds keep the bits of that sum, which
   are in the order of numbers: gcc makes branches of bounds on floats that become constants, and of a choice between results, not vectors. */
#if defined(__arm__) && defined(__GNUC__) && !defined(__clang__) /* makes no vectors of floats, and one by one takes less for these */
EDGEC_IN_LOOPS int32_t edgec_nearest_within(float x, float low, float high) {
    return edgec_nearest(edgec_fminf(edgec_fmaxf(x, low), high));
}
EDGEC_IN_LOOPS int32_t edgec_nearest_known(float known, float x, float low, float high) {
    return edgec_nearest(known == known ? edgec_fminf(edgec_fmaxf(x, low), high) : 0.0f);
}
#else
EDGEC_IN_LOOPS int32_t edgec_nearest_within(float x, float low, float high) {
    const int32_t bits = (int32_t)edgec_bits(x + 12582912.0f);
    const int32_t least = (int32_t)edgec_bits(low + 12582912.0f), most = (int32_t)edgec_bits(high + 12582912.0f);
    const int32_t above = bits > least ? bits : least;
    return (above < most ? above : most) - 0x4b400000;
}
EDGEC_IN_LOOPS int32_t edgec_nearest_known(float known, float x, float low, float high) {
    return edgec_nearest_within(x, low, high) & -(int32_t)(known == known);
}
#endif
static inline float edgec_floorf(float x) {
    float r = edgec_rintf(x);
    float less = r - 1.0f;
    return r > x ? less : r;
}
static inline float edgec_ceilf(float x) {
    float r = edgec_rintf(x);
    float more = edgec_copysignf(r + 1.0f, x);
    return r < x ? more : r;
}

/* Square root by integers, one result bit at a time, correctly rounded. */
static inline float edgec_sqrtf_by_bits(float x) {
    uint32_t u = edgec_bits(x), root = 0, rest = 0, mantissa, bit;
    int32_t exponent = (int32_t)(u >> 23);
    if (x != x || (u << 1) == 0 || u == 0x7f800000u) return x;
    if (u >> 31) return edgec_float(0x7fc00000u);
    mantissa = u & 0x7fffffu;
    if (exponent == 0) {
        exponent = 1;
        while (!(mantissa & 0x800000u)) { mantissa <<= 1; exponent--; }
    }
    mantissa |= 0x800000u;
    exponent -= 127;
    if (exponent & 1) { mantissa <<= 1; exponent--; }
    mantissa <<= 1; /* x = mantissa * 2^(exponent - 24), exponent even; the root of mantissa * 2^24 has 25 bits, the last one rounds */
    for (bit = 0; bit < 25; bit++) {
        uint32_t pair = bit < 13 ? (mantissa >> (24 - 2 * bit)) & 3u : 0;
        uint32_t trial = (root << 2) | 1u;
        rest = (rest << 2) | pair;
        root <<= 1;
        if (rest >= trial) { rest -= trial; root |= 1u; }
    }
    root = (root >> 1) + (root & 1u);
    return edgec_float(root - 0x800000u + ((uint32_t)(exponent / 2 + 127) << 23));
}

/* Square root, correctly rounded, by the processor's own instruction where it has one. */
static inline float edgec_sqrtf(float x) {
#if defined(__SSE2__) || defined(_M_X64)
    return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
#elif defined(__aarch64__)
    float r;
    __asm__("fsqrt %s0, %s1" : "=w"(r) : "w"(x));
    return r;
#elif defined(__arm__) && defined(__ARM_FP) && (__ARM_FP & 4)
    float r;
    __asm__("vsqrt.f32 %0, %1" : "=t"(r) : "t"(x));
    return r;
#elif defined(__riscv_flen) && __riscv_flen >= 32
    float r;
    __asm__("fsqrt.s %0, %1" : "=f"(r) : "f"(x));
    return r;
#else
    return edgec_sqrtf_by_bits(x);
#endif
}

/* e^x within 1.1: x = n ln 2 + r, |r| <= ln 2 / 2; 2^n in two factors, since n reaches 128. */
EDGEC_IN_LOOPS float edgec_expf(float x) {
    float c = x < 89.0f ? x : 89.0f;
    float b = c > -88.0f ? c : -88.0f;
    float n = (b * 1.44269504f + 12582912.0f) - 12582912.0f;
    float r = (b - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = (((1.38131424e-3f * r + 8.36941879e-3f) * r + 4.1668456e-2f) * r + 0.166665152f) * r + 0.49999994f;
    float y = ((r * r) * p + r) + 1.0f;
    int32_t whole = (int32_t)n + 256;
    int32_t half = whole >> 1;
    float e = (y * edgec_float((uint32_t)(half - 1) << 23)) * edgec_float((uint32_t)(whole - half - 1) << 23);
    float f = x < -87.33f ? 0.0f : e;
    return x == x ? f : x;
}

/* Natural logarithm within 1: x = m 2^e with m in [sqrt 1/2, sqrt 2). log 0 = -inf, of a negative number NaN. */
EDGEC_IN_LOOPS float edgec_logf(float x) {
    float scaled = x * 8388608.0f;
    float normal = x < 1.17549435e-38f ? scaled : x;
    float offset = x < 1.17549435e-38f ? 150.0f : 127.0f;
    uint32_t u = edgec_bits(normal) + 0x004afb0du; /* 1 - sqrt 1/2, in bits */
    float e = (float)(int32_t)(u >> 23) - offset;
    float f = edgec_float((u & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    float s = f * f;
    float p = ((((((-7.63442963e-2f * f + 0.127615497f) * f - 0.131601945f) * f + 0.142017618f) * f - 0.166233569f) * f
                + 0.200012267f) * f - 0.250008225f) * f + 0.333333313f;
    float y = (((s * f) * p - e * 2.12194440e-4f) - 0.5f * s) + f;
    float r = y + e * 0.693359375f;
    float g = x < edgec_float(0x7f800000u) ? r : x;
    float h = x > 0.0f ? g : edgec_float(0x7fc00000u);
    float k = x == 0.0f ? edgec_float(0xff800000u) : h;
    return x == x ? k : x;
}

/* edgec_expf where only its sum with 1 counts, which has the same bits: below -80 anything small will do, and 2^(n - 1) is one factor. */
EDGEC_IN_LOOPS float edgec_exp_in_sum(float x) {
    float c = x > 89.0f ? 89.0f : x;
    float b = c < -80.0f ? -80.0f : c;
    float shifted = b * 1.44269504f + 12582912.0f;
    float n = shifted - 12582912.0f;
    float r = (b - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = (((1.38131424e-3f * r + 8.36941879e-3f) * r + 4.1668456e-2f) * r + 0.166665152f) * r + 0.49999994f;
    float y = ((r * r) * p + r) + 1.0f;
    float half = y * edgec_float((edgec_bits(shifted) + 126u) << 23);
    return half + half;
}

/* 1 / (1 + e^-x), within 2.5. */
EDGEC_IN_LOOPS float edgec_sigmoidf(float x) { return 1.0f / (1.0f + edgec_exp_in_sum(-x)); }

/* tanh within 2: a polynomial near 0, else 1 - 2 / (e^2|x| + 1). */
EDGEC_IN_LOOPS float edgec_tanhf(float x) {
    float a = edgec_fabsf(x);
    float s = a * a;
    float p = (((-5.89515036e-3f * s + 2.07959637e-2f) * s - 5.37838265e-2f) * s + 0.133319244f) * s - 0.333332986f;
    float small = (a * s) * p + a;
    float big = 1.0f - 2.0f / (edgec_exp_in_sum(a + a) + 1.0f);
    return edgec_copysignf(a < 0.6f ? small : big, x);
}

/* Error function within 2: x + x P(x^2) near 0, else 1 - exp(Q(|x|)). */
EDGEC_IN_LOOPS float edgec_erff(float x) {
    float a = edgec_fabsf(x);
    float b = a < 4.0f ? a : 4.0f;
    float s = b * b;
    float p = ((((-5.99940424e-4f * s + 4.99483012e-3f) * s - 2.67677195e-2f) * s + 0.112818457f) * s - 0.376124978f) * s
              + 0.128379151f;
    float q = ((((((2.0909556e-5f * b - 4.32303001e-4f) * b + 4.16052714e-3f) * b - 2.50914972e-2f) * b + 0.108236618f) * b
                + 0.633386672f) * b + 1.12949514f) * b - 1.70552026e-4f;
    float small = b * p + b;
    float big = 1.0f - edgec_exp_in_sum(-q);
    float r = edgec_copysignf(b < 0.9f ? small : big, x);
    return x == x ? r : x;
}

/* log of a positive finite double, to about 2^-50: 2 atanh((m - 1) / (m + 1)). */
static inline double edgec_log64(double x) {
    uint64_t u = edgec_bits64(x) + 0x00095f619980c434u; /* 1 - sqrt 1/2, in bits */
    double e = (double)((int32_t)(u >> 52) - 1023);
    double m = edgec_double((u & 0xfffffffffffffu) + 0x3fe6a09e667f3bccu);
    double t = (m - 1.0) / (m + 1.0);
    double s = t * t;
    double p = ((((((((s * (1.0 / 19.0) + 1.0 / 17.0) * s + 1.0 / 15.0) * s + 1.0 / 13.0) * s + 1.0 / 11.0) * s + 1.0 / 9.0) * s + 1.0 / 7.0) * s
                 + 1.0 / 5.0) * s + 1.0 / 3.0) * s + 1.0;
    return (t + t) * p + e * 0.693147180559945309;
}

/* e^x for |x| <= 256, to about 2^-48 (Taylor's series after the reduction by ln 2). */
static inline double edgec_exp64(double x) {
    double n = (x * 1.44269504088896341 + 6755399441055744.0) - 6755399441055744.0;
    double r = (x - n * 0.693147182464599609375) + n * 1.90465429995776804525e-9;
    double p = r * (1.0 / 479001600.0) + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    return p * edgec_double((uint64_t)((int32_t)n + 1023) << 52);
}

/* x^y within 0.51, through doubles; the special cases are C99's. */
static inline float edgec_powf(float x, float y) {
    float infinity = edgec_float(0x7f800000u), nan = edgec_float(0x7fc00000u);
    float a = edgec_fabsf(x), half = y * 0.5f;
    int whole = edgec_rintf(y) == y, odd = whole && edgec_rintf(half) != half;
    double base = a > 0.0f && a < infinity ? (double)a : 1.0;
    double t = (double)y * edgec_log64(base);
    double b = t < 256.0 ? t : 256.0;
    double c = b > -256.0 ? b : -256.0;
    float r = (float)edgec_exp64(c);
    float grows = y > 0.0f ? infinity : 0.0f, shrinks = y > 0.0f ? 0.0f : infinity;
    r = a == infinity ? grows : r;
    r = a == 0.0f ? shrinks : r;
    r = odd && edgec_bits(x) >> 31 ? -r : r;
    r = x < 0.0f && a < infinity && !whole ? nan : r;
    r = a == 1.0f && edgec_fabsf(y) == infinity ? 1.0f : r;
    r = x == x && y == y ? r : nan;
    return y == 0.0f || x == 1.0f ? 1.0f : r;
}

/* |x| = (4 k + q) pi/2 + r with |r| <= pi/4, for every finite float: x times those bits of 2/pi that matter. Returns r, sets *q. */
static inline double edgec_reduce(float x, uint32_t *q) {
    static const uint32_t two_over_pi[9] = {0, 0, 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu};
    uint32_t u = edgec_bits(x) & 0x7fffffffu;
    uint32_t exponent = u >> 23, shift, word, w[3], i;
    uint64_t mantissa = (u & 0x7fffffu) | 0x800000u, product, fraction;
    if (exponent < 104) { /* below 2^-23 */
        *q = 0;
        return (double)edgec_float(u);
    }
    /* |x| = mantissa * 2^(exponent - 150); 96 bits from the one whose multiples are below 8, in the units of the product. */
    word = (exponent - 88) / 32;
    shift = (exponent - 88) % 32;
    for (i = 0; i < 3; i++) {
        uint64_t pair = ((uint64_t)two_over_pi[word + i] << 32) | two_over_pi[word + i + 1];
        w[i] = (uint32_t)(pair >> (32 - shift));
    }
    product = ((mantissa * w[0]) << 32) + mantissa * w[1] + ((mantissa * w[2]) >> 32); /* |x| 2/pi modulo 4, in 2^-62 */
    *q = (uint32_t)((product + 0x2000000000000000u) >> 62);
    fraction = product << 2; /* signed, in 2^-64: the distance from the nearest quarter */
    return ((double)(int32_t)(uint32_t)(fraction >> 32) * 2.3283064365386963e-10 + (double)(uint32_t)fraction * 5.421010862427522e-20)
           * 1.57079632679489662;
}

static inline float edgec_sine(float x, uint32_t quarters) {
    uint32_t q;
    double r, s, sine, cosine, y;
    if (!(edgec_fabsf(x) < edgec_float(0x7f800000u))) return edgec_float(0x7fc00000u);
    r = edgec_reduce(x, &q);
    if (quarters == 0 && edgec_bits(x) >> 31) quarters = 2; /* sin -x = -sin x */
    q = (q + quarters) & 3u;
    s = r * r;
    sine = (((((s * (1.0 / 6227020800.0) - 1.0 / 39916800.0) * s + 1.0 / 362880.0) * s - 1.0 / 5040.0) * s + 1.0 / 120.0) * s - 1.0 / 6.0) * s;
    sine = r * sine + r;
    cosine = ((((((s * (1.0 / 479001600.0) - 1.0 / 3628800.0) * s + 1.0 / 40320.0) * s - 1.0 / 720.0) * s + 1.0 / 24.0) * s - 0.5) * s) + 1.0;
    y = q & 1u ? cosine : sine;
    return (float)(q & 2u ? -y : y);
}

/* What of x is left after whole multiples of y, exactly, with the sign of x: one bit of the quotient at a time. */
static inline float edgec_fmodf(float x, float y) {
    const uint32_t sign = edgec_bits(x) & 0x80000000u, least = edgec_bits(y) & 0x7fffffffu;
    uint32_t rest = edgec_bits(x) & 0x7fffffffu, divisor, exponent = rest >> 23, lowest = least >> 23;
    if (least == 0 || rest >= 0x7f800000u || least > 0x7f800000u) return edgec_float(0x7fc00000u);
    if (rest < least) return x;
    rest = exponent ? (rest & 0x7fffffu) | 0x800000u : rest;
    divisor = lowest ? (least & 0x7fffffu) | 0x800000u : least;
    exponent = exponent ? exponent : 1u;
    lowest = lowest ? lowest : 1u;
    for (; exponent > lowest; exponent--) rest = (rest >= divisor ? rest - divisor : rest) << 1;
    if (rest >= divisor) rest -= divisor;
    if (rest == 0) return edgec_float(sign);
    for (; rest < 0x800000u && lowest > 1u; lowest--) rest <<= 1;
    return edgec_float(sign | (rest >= 0x800000u ? (rest & 0x7fffffu) | lowest << 23 : rest));
}

/* Sine and cosine within 0.51, for arguments of any size. */
static inline float edgec_sinf(float x) { return edgec_sine(x, 0); }
static inline float edgec_cosf(float x) { return edgec_sine(x, 1); }

#endif
