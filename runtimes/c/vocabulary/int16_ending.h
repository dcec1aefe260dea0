/* How sums of products with 16-bit codes end, in every vocabulary: as floats, as 16-bit codes or as 8-bit ones. */
enum { MOST_PAIRS = 255 };

/* Where the numbers of a pixel go, and what becomes of them. */
struct ending {
    int32_t bytes; /* of an element: 4 a float, 2 int16_t, 1 activation */
    int32_t zero;
    float low, high; /* less zero */
};

/* The bytes of a float are those of its float; a code is clamp(rint(v), low - zero, high - zero) + zero. */
INLINE void end_some(const struct ending *end, char *y, floats v, int32_t n) {
    int16_t part[FLOATS];
    int32_t i;
    if (end->bytes == 4) {
        floats_store_some((float *)(void *)y, v, n);
        return;
    }
    v = floats_min(floats_splat(end->high), floats_max(floats_splat(end->low), v));
    if (end->bytes == 2 && n >= FLOATS) {
        codes16_store((int16_t *)(void *)y, v, end->zero);
        return;
    }
    codes16_store(part, v, end->zero);
    if (n > FLOATS) n = FLOATS;
    if (end->bytes == 2) {
        for (i = 0; i < n; i++) ((int16_t *)(void *)y)[i] = part[i];
    } else {
        for (i = 0; i < n; i++) ((activation *)(void *)y)[i] = (activation)part[i];
    }
}

/* The first n channels of a pixel. */
INLINE void end_pixel(const struct ending *end, char *y, const double *total, const float *scale, int32_t n) {
    int32_t c;
    for (c = 0; c < n; c += FLOATS) end_some(end, y + (ptrdiff_t)c * end->bytes, totals_scaled(total + c, scale + c), n - c);
}
