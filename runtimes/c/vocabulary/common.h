/* Shared by all kernels: where the pixels under a window lie. */

HELPER int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

/* taps[i] = at, and `step` bytes further on each next one, for i of begin..end. */
HELPER void list_pixels(const void **taps, int32_t begin, int32_t end, const char *at, ptrdiff_t step) {
    int32_t i = begin;
#if defined(__GNUC__) && defined(__aarch64__) && defined(__LP64__) /* whose compilers store eight by instructions that take as long as eight */
    typedef uint64_t two_t __attribute__((vector_size(16)));
    const two_t further = {2 * (uint64_t)step, 2 * (uint64_t)step};
    two_t a = {(uint64_t)at, (uint64_t)(at + step)};
    for (; i + 7 < end; i += 8, at += 8 * step) {
        const two_t b = a + further, c = b + further, d = c + further;
        memcpy(taps + i, &a, sizeof a);
        memcpy(taps + i + 2, &b, sizeof b);
        memcpy(taps + i + 4, &c, sizeof c);
        memcpy(taps + i + 6, &d, sizeof d);
        a = d + further;
    }
    if (i + 3 < end) {
        const two_t b = a + further;
        memcpy(taps + i, &a, sizeof a);
        memcpy(taps + i + 2, &b, sizeof b);
        i += 4;
        at += 4 * step;
    }
#endif
    for (; i < end; i++, at += step) taps[i] = at;
}

/* taps[tap * PIXEL_BLOCK + i] = the address of the input pixel under `tap` of output pixel first + i, or `outside` where the
   window leaves the image. `x` is the first pixel's address, `element` the bytes of an element; pixels from `count` to `padded`
   repeat the last one. */
HELPER void find_taps(const window_t *w, const void *x, int32_t element, int32_t first, int32_t count, int32_t padded,
                             const void *outside, const void **taps) {
    const ptrdiff_t pixel = (ptrdiff_t)w->in_pixel_stride * element, step = pixel * w->stride_width;
    int32_t row = first / w->out_width, column = first % w->out_width, i, j, ky, kx, run;
    for (i = 0; i < count; i += run, row++, column = 0) { /* a run of pixels in one row */
        const int32_t top = row % w->out_height * w->stride_height - w->pad_top, left = column * w->stride_width - w->pad_left;
        const ptrdiff_t image = (ptrdiff_t)(row / w->out_height) * w->in_height;
        const void **slot = taps + i;
        run = smaller(count - i, w->out_width - column);
        for (ky = 0; ky < w->kernel_height; ky++) {
            const int32_t iy = top + ky * w->dilation_height;
            const int32_t width = iy >= 0 && iy < w->in_height ? w->in_width : 0;
            for (kx = 0; kx < w->kernel_width; kx++, slot += PIXEL_BLOCK) {
                int32_t ix = left + kx * w->dilation_width, inside;
                const char *at;
                for (j = 0; j < run && ix < 0; j++, ix += w->stride_width) slot[j] = outside;
                at = ix < width ? (const char *)x + ((image + iy) * w->in_width + ix) * pixel : (const char *)outside;
                inside = ix < width ? smaller(run, j + (width - ix + w->stride_width - 1) / w->stride_width) : j;
                list_pixels(slot, j, inside, at, step);
                for (j = inside; j < run; j++) slot[j] = outside;
            }
        }
    }
    for (ky = 0; ky < w->kernel_height * w->kernel_width; ky++)
        for (i = count; i < padded; i++) taps[ky * PIXEL_BLOCK + i] = taps[ky * PIXEL_BLOCK + count - 1];
}

/* True where every output pixel reads just the input pixel of the same index: the window of a matrix product. */
HELPER int is_pointwise(const window_t *w) {
    return w->kernel_height * w->kernel_width == 1 && w->stride_height == 1 && w->stride_width == 1 && w->pad_top == 0 &&
           w->pad_left == 0 && w->in_height == w->out_height && w->in_width == w->out_width;
}

/* find_taps for a pointwise window. */
HELPER void find_pointwise(const window_t *w, const void *x, int32_t element, int32_t first, int32_t count, int32_t padded,
                                  const void **taps) {
    const ptrdiff_t pixel = (ptrdiff_t)w->in_pixel_stride * element;
    const char *at = (const char *)x + first * pixel;
    int32_t i;
    list_pixels(taps, 0, count, at, pixel);
    for (i = count; i < padded; i++) taps[i] = at + (count - 1) * pixel;
}
