/* Taps in a row of a window that are neighbours in memory, as a single tap of all their codes. */

/* Whether they are, where weights have so many inputs of each tap, and whether windows that leave the image's columns are so few that
   what is under those of a block fits the memory of the pointers that are saved. */
HELPER int rows_join(const window_t *w, int32_t channels, int32_t inputs) {
    const int32_t last = w->in_width - w->kernel_width + w->pad_left, rows = (PIXEL_BLOCK - 2) / w->out_width + 2;
    const int32_t before = (w->pad_left + w->stride_width - 1) / w->stride_width, inside = last < 0 ? 0 : last / w->stride_width + 1;
    const int32_t ends = before + w->out_width - smaller(inside, w->out_width), most = (w->kernel_width - 1) * w->kernel_height * PIXEL_BLOCK * 8;
    return w->kernel_width > 1 && w->dilation_width == 1 && w->in_pixel_stride == channels && channels == inputs &&
           (ptrdiff_t)(rows * smaller(ends, w->out_width) * w->kernel_height + 1) * w->kernel_width * channels <= most;
}

/* A row of a window whose first column is `left`; `line` is that row of the image. */
HELPER void join_row(const window_t *w, const activation *line, int32_t left, int32_t channels, int32_t zero, activation *to) {
    const int32_t begin = left < 0 ? -left : 0, end = smaller(w->kernel_width, w->in_width - left);
    memset(to, zero, (size_t)(w->kernel_width * channels));
    if (begin < end) memcpy(to + begin * channels, line + (ptrdiff_t)(left + begin) * channels, (size_t)((end - begin) * channels));
}

/* find_taps for taps that are rows; `joined`: memory for what is outside, and under windows that leave the image's columns. */
HELPER void find_rows(const window_t *w, const activation *x, int32_t channels, int32_t zero, int32_t first, int32_t count, int32_t padded,
                      activation *joined, const void **taps) {
    const ptrdiff_t pixel = channels, run = (ptrdiff_t)w->kernel_width * pixel;
    const int32_t width = w->in_width, stride = w->stride_width, kernel = w->kernel_width;
    const activation *const outside = joined;
    int32_t row = first / w->out_width, column = first % w->out_width, i, j, end, ky, here;
    memset(joined, zero, (size_t)run);
    for (i = 0; i < count; i += here, row++, column = 0) { /* pixels of one row */
        const int32_t top = row % w->out_height * w->stride_height - w->pad_top, left = column * stride - w->pad_left;
        const void **slot = taps + i;
        here = smaller(count - i, w->out_width - column);
        for (ky = 0; ky < w->kernel_height; ky++, slot += PIXEL_BLOCK) {
            const int32_t y = top + ky * w->dilation_height;
            const activation *line = x;
            if (y < 0 || y >= w->in_height) {
                list_pixels(slot, here, (uintptr_t)outside, 0);
                continue;
            }
            line += ((ptrdiff_t)(row / w->out_height) * w->in_height + y) * width * pixel;
            list_pixels(slot, here, (uintptr_t)line + (uintptr_t)(left * pixel), pixel * stride);
            for (j = 0; j < here && left + j * stride < 0; j++) {
                join_row(w, line, left + j * stride, channels, zero, joined += run);
                slot[j] = joined;
            }
            for (end = here; end > j && left + (end - 1) * stride + kernel > width; end--) {
                join_row(w, line, left + (end - 1) * stride, channels, zero, joined += run);
                slot[end - 1] = joined;
            }
        }
    }
    for (ky = 0; ky < w->kernel_height; ky++)
        for (i = count; i < padded; i++) taps[ky * PIXEL_BLOCK + i] = taps[ky * PIXEL_BLOCK + count - 1];
}
