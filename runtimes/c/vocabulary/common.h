/* Shared by all kernels: where the pixels under a window lie. */

HELPER int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

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
                for (; j + 3 < inside; j += 4, at += 4 * step) {
                    slot[j] = at;
                    slot[j + 1] = at + step;
                    slot[j + 2] = at + 2 * step;
                    slot[j + 3] = at + 3 * step;
                }
                for (; j < inside; j++, at += step) slot[j] = at;
                for (; j < run; j++) slot[j] = outside;
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
    for (i = 0; i + 3 < count; i += 4, at += 4 * pixel) {
        taps[i] = at;
        taps[i + 1] = at + pixel;
        taps[i + 2] = at + 2 * pixel;
        taps[i + 3] = at + 3 * pixel;
    }
    for (; i < count; i++, at += pixel) taps[i] = at;
    for (; i < padded; i++) taps[i] = at - pixel;
}
