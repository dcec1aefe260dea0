/* Shared by all kernels: where the pixels under a window lie. */

/* taps[tap * PIXEL_BLOCK + i] = the address of the input pixel under `tap` of output pixel first + i, or `outside` where the
   window leaves the image. `x` is the first pixel's address, `element` the bytes of an element; pixels from `count` to `padded`
   repeat the last one. */
HELPER void find_taps(const window_t *w, const void *x, int32_t element, int32_t first, int32_t count, int32_t padded,
                             const void *outside, const void **taps) {
    const char *const base = (const char *)x;
    const ptrdiff_t pixel = (ptrdiff_t)w->in_pixel_stride * element;
    const int32_t kernel = w->kernel_height * w->kernel_width;
    int32_t i, ky, kx, tap;
    int32_t column = first % w->out_width, row = first / w->out_width % w->out_height;
    ptrdiff_t image = (ptrdiff_t)(first / w->out_width / w->out_height) * w->in_height * w->in_width;
    for (i = 0; i < count; i++) {
        const int32_t top = row * w->stride_height - w->pad_top, left = column * w->stride_width - w->pad_left;
        const void **slot = taps + i;
        for (ky = 0; ky < w->kernel_height; ky++) {
            const int32_t iy = top + ky * w->dilation_height;
            const int inside = iy >= 0 && iy < w->in_height;
            const ptrdiff_t line = image + (ptrdiff_t)(inside ? iy : 0) * w->in_width;
            for (kx = 0; kx < w->kernel_width; kx++, slot += PIXEL_BLOCK) {
                const int32_t ix = left + kx * w->dilation_width;
                *slot = inside && ix >= 0 && ix < w->in_width ? base + (line + ix) * pixel : (const char *)outside;
            }
        }
        if (++column == w->out_width) {
            column = 0;
            if (++row == w->out_height) {
                row = 0;
                image += (ptrdiff_t)w->in_height * w->in_width;
            }
        }
    }
    for (tap = 0; tap < kernel; tap++)
        for (i = count; i < padded; i++) taps[tap * PIXEL_BLOCK + i] = taps[tap * PIXEL_BLOCK + count - 1];
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
    int32_t i;
    for (i = 0; i < padded; i++) taps[i] = (const char *)x + (first + (i < count ? i : count - 1)) * pixel;
}

HELPER int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
