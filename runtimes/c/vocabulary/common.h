/* Shared by all kernels: where the pixels under a window lie. */

HELPER int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

/* taps[i] = at + i * step for i below `count`; a number, since some of them may lie outside of all objects, where nobody reads. */
HELPER void list_pixels(const void **taps, int32_t count, uintptr_t at, ptrdiff_t step) {
#if defined(__GNUC__) && defined(__aarch64__) && defined(__LP64__) /* whose compilers store eight by instructions that take as long as eight */
    typedef uint64_t two_t __attribute__((vector_size(16)));
    const two_t further = {2 * (uint64_t)step, 2 * (uint64_t)step};
    two_t a = {at, at + (uint64_t)step};
    for (; count >= 8; count -= 8, taps += 8) {
        const two_t b = a + further, c = b + further, d = c + further;
        memcpy(taps, &a, sizeof a);
        memcpy(taps + 2, &b, sizeof b);
        memcpy(taps + 4, &c, sizeof c);
        memcpy(taps + 6, &d, sizeof d);
        a = d + further;
    }
    for (; count >= 2; count -= 2, taps += 2, a += further) memcpy(taps, &a, sizeof a);
    if (count > 0) *taps = (const void *)a[0];
#else
    int32_t i;
    for (i = 0; i < count; i++, at += (uintptr_t)step) taps[i] = (const void *)at;
#endif
}

/* taps[tap * PIXEL_BLOCK + i] = the address of the input pixel under `tap` of output pixel first + i, or `outside` where the
   window leaves the image. `x` is the first pixel's address, `element` the bytes of an element; pixels from `count` to `padded`
   repeat the last one. */
HELPER void find_taps(const window_t *w, const void *x, int32_t element, int32_t first, int32_t count, int32_t padded,
                             const void *outside, const void **taps) {
    const ptrdiff_t pixel = (ptrdiff_t)w->in_pixel_stride * element;
    const int32_t width = w->in_width, stride = w->stride_width, dilation = w->dilation_width, kernel = w->kernel_width;
    int32_t row = first / w->out_width, column = first % w->out_width, i, j, ky, kx, run;
    for (i = 0; i < count; i += run, row++, column = 0) { /* a run of pixels in one row */
        const int32_t top = row % w->out_height * w->stride_height - w->pad_top, left = column * stride - w->pad_left;
        const ptrdiff_t image = (ptrdiff_t)(row / w->out_height) * w->in_height;
        const void **slot = taps + i;
        run = smaller(count - i, w->out_width - column);
        for (ky = 0; ky < w->kernel_height; ky++) {
            const int32_t iy = top + ky * w->dilation_height, within = iy >= 0 && iy < w->in_height;
            const ptrdiff_t step = within ? pixel * stride : 0, further = within ? pixel * dilation : 0;
            uintptr_t at = within ? (uintptr_t)x + (uintptr_t)(((image + iy) * width + left) * pixel) : (uintptr_t)outside;
            int32_t ix = left;
            for (kx = 0; kx < kernel; kx++, slot += PIXEL_BLOCK, at += (uintptr_t)further, ix += dilation) {
                list_pixels(slot, run, at, step);
                for (j = 0; j < run && ix + j * stride < 0; j++) slot[j] = outside;
                for (j = run - 1; j >= 0 && ix + j * stride >= width; j--) slot[j] = outside;
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
    int32_t i;
    list_pixels(taps, count, (uintptr_t)x + (uintptr_t)(first * pixel), pixel);
    for (i = count; i < padded; i++) taps[i] = taps[count - 1];
}
