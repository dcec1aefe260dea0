/* The codes under a window of few channels, one after the other, as if they were the channels of one pixel. */

/* A row of a window whose first column is `left` in the image; `line` is that row of the image, if it has it, else 0. `sixteen`: so many
   codes may be touched from anywhere in both. */
HELPER void gather_row(const window_t *w, const activation *line, int32_t left, int32_t channels, int32_t zero, int sixteen, activation *to) {
    const int32_t before = left < 0 ? smaller(-left, w->kernel_width) : 0, inside = smaller(w->kernel_width, w->in_width - left) - before;
    if (sixteen) {
        memset(to, zero, 16);
        if (!line || inside <= 0) return;
        memcpy(to + before * channels, line + (left + before) * channels, 16);
        if (before + inside < w->kernel_width) memset(to + (before + inside) * channels, zero, 16);
        return;
    }
    memset(to, zero, (size_t)(w->kernel_width * channels));
    if (line && inside > 0) memcpy(to + before * channels, line + (left + before) * channels, (size_t)(inside * channels));
}

#if defined(GATHERS_THREE)
/* gather_windows() for those that gather_three() can join, where they lie within the image's columns. */
APART KERNEL void gather_joined(const window_t *w, const activation *x, int32_t channels, int32_t zero, int32_t first, int32_t count, int32_t pitch,
                                activation *to) {
    const int32_t run = w->kernel_width * channels, stride = w->stride_width, height = w->batch * w->in_height;
    const ptrdiff_t step = (ptrdiff_t)stride * channels, line = (ptrdiff_t)w->in_width * channels;
    int32_t row = first / w->out_width, column = first % w->out_width, i, j, ky, here;
    activation outside[16];
    memset(outside, zero, sizeof outside);
    for (i = 0; i < count; i += here, row++, column = 0) { /* pixels of one row */
        const int32_t top = row % w->out_height * w->stride_height - w->pad_top, left = column * stride - w->pad_left, image = row / w->out_height * w->in_height;
        const int32_t begin = left < 0 ? (stride - 1 - left) / stride : 0;
        const ptrdiff_t after = height - image - top - 2 * w->dilation_height, inside = (w->in_width - w->kernel_width - left) * channels;
        const ptrdiff_t more = after * line - left * channels - 16, last = inside < more ? inside : more; /* as in gather_windows(), of the last row */
        const activation *rows[3], *at[3];
        ptrdiff_t steps[3];
        int32_t stop;
        here = smaller(count - i, w->out_width - column);
        stop = last >= 0 ? smaller(here, (int32_t)(last / step) + 1) : 0;
        for (ky = 0; ky < 3; ky++) {
            const int32_t y = top + ky * w->dilation_height;
            rows[ky] = y >= 0 && y < w->in_height ? x + (image + y) * line : 0;
            at[ky] = rows[ky] ? rows[ky] + (left + begin * stride) * channels : outside;
            steps[ky] = rows[ky] ? step : 0;
        }
        if (begin < stop) gather_three(at, steps, run, stop - begin, pitch, to + (ptrdiff_t)(i + begin) * pitch);
        for (ky = 0; ky < 3; ky++) {
            const int sixteen = !rows[ky] || (after + 1 - ky * w->dilation_height) * line >= 16;
            for (j = begin > 0 || begin >= stop ? 0 : stop; j < here; j += begin < stop && j == begin - 1 ? stop - j : 1)
                gather_row(w, rows[ky], left + j * stride, channels, zero, sixteen, to + (ptrdiff_t)(i + j) * pitch + ky * run);
        }
    }
}
#endif

/* `count` windows from pixel `first` on, `pitch` codes apart, where pixels have `channels` codes and nothing between them. Up to 15 codes
   past a window may be written, too. */
APART KERNEL void gather_windows(const window_t *w, const activation *x, int32_t channels, int32_t zero, int32_t first, int32_t count, int32_t pitch,
                           activation *to) {
    const int32_t run = w->kernel_width * channels, step = w->stride_width * channels, height = w->batch * w->in_height;
    int32_t row = first / w->out_width, column = first % w->out_width, i, j, ky, here;
#if defined(GATHERS_THREE)
    if (w->kernel_height == 3 && run >= 6 && run <= 10) {
        gather_joined(w, x, channels, zero, first, count, pitch, to);
        return;
    }
#endif
    for (i = 0; i < count; i += here, row++, column = 0) { /* pixels of one row */
        const int32_t top = row % w->out_height * w->stride_height - w->pad_top, left = column * w->stride_width - w->pad_left;
        here = smaller(count - i, w->out_width - column);
        for (ky = 0; ky < w->kernel_height; ky++) {
            const int32_t y = top + ky * w->dilation_height, line = row / w->out_height * w->in_height + y;
            const activation *const from = y >= 0 && y < w->in_height ? x + (ptrdiff_t)line * w->in_width * channels : 0;
            /* how far the first column of a window may be right of `left`, so that it ends in the image and 16 codes follow */
            const ptrdiff_t inside = w->in_width - w->kernel_width - left, more = ((ptrdiff_t)(height - line) * w->in_width - left) * channels - 16;
            const ptrdiff_t last = inside * channels < more ? inside * channels : more;
            const int32_t whole = from && run <= 16 && last >= 0 ? smaller(here, (int32_t)(last / step) + 1) : 0;
            const int sixteen = run <= 16 && (!from || (ptrdiff_t)(height - line - 1) * w->in_width * channels >= 16);
            activation *into = to + (ptrdiff_t)i * pitch + ky * run;
            for (j = 0; j < here && left + j * w->stride_width < 0; j++, into += pitch)
                gather_row(w, from, left + j * w->stride_width, channels, zero, sixteen, into);
            if (j < whole) {
                const activation *at = from + (left + j * w->stride_width) * channels;
                int32_t pairs = (whole - j) / 2;
                for (; pairs != 0; pairs--, at += 2 * step, into += 2 * pitch) {
                    memcpy(into, at, 16);
                    memcpy(into + pitch, at + step, 16);
                }
                if ((whole - j) % 2) {
                    memcpy(into, at, 16);
                    into += pitch;
                }
                j = whole;
            }
            for (; j < here; j++, into += pitch) gather_row(w, from, left + j * w->stride_width, channels, zero, sixteen, into);
        }
    }
}
