/* Rows of codes by rows of weights, 16 products an instruction. In memory 16 inputs of a channel follow those of the one before. */

/* Sums of three pixels and two channels; a pixel's are LANES after those of the one before. */
INLINE void dots_three(const activation *x0, const activation *x1, const activation *x2, const int8_t *w, int32_t steps, const int32_t *bias,
                       int32_t *sums) {
    const int32_t *from = (const int32_t *)(const void *)w;
    int32_t s00 = bias[0], s01 = bias[1], s10 = s00, s11 = s01, s20 = s00, s21 = s01;
    do {
        const int8x16_t first = vreinterpretq_s8_s32(vldrwq_s32(from)), second = vreinterpretq_s8_s32(vldrwq_s32(from + 4));
        const int8x16_t a = vldrbq_s8(x0), b = vldrbq_s8(x1), c = vldrbq_s8(x2);
        s00 = vmladavaq_s8(s00, a, first);
        s01 = vmladavaq_s8(s01, a, second);
        s10 = vmladavaq_s8(s10, b, first);
        s11 = vmladavaq_s8(s11, b, second);
        s20 = vmladavaq_s8(s20, c, first);
        s21 = vmladavaq_s8(s21, c, second);
        x0 += 16;
        x1 += 16;
        x2 += 16;
        from += 4 * LANES;
    } while (--steps != 0);
    sums[0] = s00;
    sums[1] = s01;
    sums[LANES] = s10;
    sums[LANES + 1] = s11;
    sums[2 * LANES] = s20;
    sums[2 * LANES + 1] = s21;
}

/* Of one pixel and four channels. */
INLINE void dots_one(const activation *x, const int8_t *w, int32_t steps, const int32_t *bias, int32_t *sums) {
    const int32_t *from = (const int32_t *)(const void *)w;
    int32_t s0 = bias[0], s1 = bias[1], s2 = bias[2], s3 = bias[3];
    do {
        const int8x16_t a = vldrbq_s8(x);
        s0 = vmladavaq_s8(s0, a, vreinterpretq_s8_s32(vldrwq_s32(from)));
        s1 = vmladavaq_s8(s1, a, vreinterpretq_s8_s32(vldrwq_s32(from + 4)));
        s2 = vmladavaq_s8(s2, a, vreinterpretq_s8_s32(vldrwq_s32(from + 8)));
        s3 = vmladavaq_s8(s3, a, vreinterpretq_s8_s32(vldrwq_s32(from + 12)));
        x += 16;
        from += 4 * LANES;
    } while (--steps != 0);
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

/* Copies `count` codes, or as often the same one; nothing past them is touched. */
INLINE void copy_codes(activation *to, const activation *from, int32_t count) {
    for (; count > 0; count -= 16, to += 16, from += 16) {
        const mve_pred16_t some = vctp8q((uint32_t)count);
        vstrbq_p_s8(to, vldrbq_z_s8(from, some), some);
    }
}

INLINE void fill_codes(activation *to, int32_t code, int32_t count) {
    for (; count > 0; count -= 16, to += 16) vstrbq_p_s8(to, vdupq_n_s8((int8_t)code), vctp8q((uint32_t)count));
}

/* The codes under the windows of `count` pixels from `first` on, `pitch` codes apart, each one's one after the other, of `channels` channels.
   `together`: where as many neighbours of a row lie one after the other in memory, too. */
HELPER void gather_rows(const window_t *w, const activation *x, int32_t channels, int32_t zero, int32_t first, int32_t count,
                           int32_t together, int32_t pitch, activation *to) {
    const int32_t pixel = w->in_pixel_stride, run = together * channels, next = w->kernel_width * channels, height = w->in_height;
    const int32_t line = w->in_width * pixel, down = w->dilation_height * line, rows = w->kernel_height, step = w->dilation_height;
    int32_t row = first / w->out_width, column = first % w->out_width, i, kx, ky;
    for (i = 0; i < count; i++, to += pitch) {
        const int32_t left = column * w->stride_width - w->pad_left, top = row % w->out_height * w->stride_height - w->pad_top;
        const int32_t image = (row / w->out_height * height + top) * line;
        for (kx = 0; kx < w->kernel_width; kx += together) {
            const int32_t from = left + kx * w->dilation_width, before = from < 0 ? smaller(-from, together) : 0;
            const int32_t part = (smaller(w->in_width - from, together) - before) * channels;
            int32_t at = image + (from + before) * pixel, y = top;
            activation *into = to + kx * channels;
            for (ky = rows; ky > 0; ky--, y += step, at += down, into += next) {
                const int inside = y >= 0 && y < height;
                if (inside && part == run) {
                    copy_codes(into, x + at, run);
                } else {
                    fill_codes(into, zero, run);
                    if (inside) copy_codes(into + before * channels, x + at, part);
                }
            }
        }
        if (++column == w->out_width) {
            column = 0;
            row++;
        }
    }
}
