/* The rows of a window joined in registers, for gather_windows(). */

#if defined(__aarch64__) && defined(__GNUC__)
#define GATHERS_THREE

/* Where the codes at these places of a window are, in three rows of sixteen. */
INLINE uint8x16_t places_of(uint8x16_t at, int32_t run) {
    const uint8x16_t more = vdupq_n_u8((uint8_t)(16 - run));
    const uint8x16_t one = vandq_u8(more, vcgeq_u8(at, vdupq_n_u8((uint8_t)run))), two = vandq_u8(more, vcgeq_u8(at, vdupq_n_u8((uint8_t)(2 * run))));
    return vaddq_u8(at, vaddq_u8(one, two));
}

/* `count` windows of three rows of `run` codes, 6 to 10 of them; those of a row are `steps` codes apart, of which 16 may be read. */
KERNEL void gather_three(const activation *const *rows, const ptrdiff_t *steps, int32_t run, int32_t count, ptrdiff_t pitch, activation *to) {
    const activation *x0 = rows[0], *x1 = rows[1], *x2 = rows[2];
    static const uint8_t places[2 * LANES] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                              16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    const uint8x16_t first = places_of(vld1q_u8(places), run), second = places_of(vld1q_u8(places + LANES), run);
    do /* compilers would add to addresses, and copy what is loaded to registers in a row */
        __asm__ volatile("ld1 {v28.16b}, [%0], %4\n\tld1 {v29.16b}, [%1], %5\n\tld1 {v30.16b}, [%2], %6\n\t"
                         "tbl v31.16b, {v28.16b, v29.16b, v30.16b}, %9.16b\n\ttbl v30.16b, {v28.16b, v29.16b, v30.16b}, %8.16b\n\t"
                         "st1 {v30.16b, v31.16b}, [%3], %7"
                         : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(to)
                         : "r"(steps[0]), "r"(steps[1]), "r"(steps[2]), "r"(pitch), "w"(first), "w"(second)
                         : "v28", "v29", "v30", "v31", "memory");
    while (--count != 0);
}
#endif
