/* gather_windows() for windows of at most 32 codes: the rows of one join in a register, where masks choose what each brings. */

/* `count` windows of `rows` rows, all within the image, the next one `step` codes further; `sixteen`: so many may be read of a first row. */
INLINE void gather_inside(const activation *x, ptrdiff_t line, int32_t rows, int32_t run, ptrdiff_t step, int sixteen, int32_t count, activation *to) {
    const uint32_t codes = run < 32 ? ((uint32_t)1 << run) - 1 : UINT32_MAX;
    int32_t i, r;
    for (i = 0; i < count; i++, x += step, to += 32) {
        __m256i window = sixteen ? _mm256_zextsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)x)) : _mm256_maskz_loadu_epi8((__mmask32)codes, x);
        for (r = 1; r < rows; r++)
            window = _mm256_mask_loadu_epi8(window, (__mmask32)(codes << (r * run)), (const void *)((uintptr_t)x + (uintptr_t)(r * (line - run))));
        _mm256_storeu_si256((__m256i *)(void *)to, window);
    }
}

/* One that may leave the image, whose first row is `top` and whose first column is `left`. */
INLINE void gather_across(const window_t *w, const activation *image, int32_t channels, int32_t zero, int32_t top, int32_t left, activation *to) {
    const int32_t run = w->kernel_width * channels, before = left < 0 ? smaller(-left, w->kernel_width) : 0;
    const int32_t inside = smaller(w->kernel_width, w->in_width - left) - before;
    const uint32_t codes = inside > 0 ? (uint32_t)(((((uint64_t)1 << (inside * channels)) - 1) << (before * channels))) : 0;
    __m256i window = _mm256_set1_epi8((char)zero);
    int32_t r;
    for (r = 0; r < w->kernel_height; r++) {
        const int32_t y = top + r * w->dilation_height;
        const ptrdiff_t from = ((ptrdiff_t)y * w->in_width + left) * channels - r * run;
        if (y < 0 || y >= w->in_height) continue;
        window = _mm256_mask_loadu_epi8(window, (__mmask32)(codes << (r * run)), (const void *)((uintptr_t)image + (uintptr_t)from));
    }
    _mm256_storeu_si256((__m256i *)(void *)to, window);
}

/* Windows follow one another every 32 codes. */
KERNEL void gather_short(const window_t *w, const activation *x, int32_t channels, int32_t zero, int32_t first, int32_t count, activation *to) {
    const int32_t run = w->kernel_width * channels, rows = w->kernel_height, stride = w->stride_width, step = stride * channels;
    const ptrdiff_t line = (ptrdiff_t)w->dilation_height * w->in_width * channels;
    int32_t row = first / w->out_width, column = first % w->out_width, i, here;
    for (i = 0; i < count; i += here, row++, column = 0) { /* pixels of one row */
        const int32_t top = row % w->out_height * w->stride_height - w->pad_top, bottom = top + (rows - 1) * w->dilation_height;
        const activation *const image = x + (ptrdiff_t)(row / w->out_height) * w->in_height * w->in_width * channels;
        const int32_t last = w->in_width - w->kernel_width + w->pad_left;
        int32_t from = (w->pad_left + stride - 1) / stride, to_column = last < 0 ? 0 : last / stride + 1, c;
        here = smaller(count - i, w->out_width - column);
        from = from < column ? column : smaller(from, column + here);
        to_column = top < 0 || bottom >= w->in_height || to_column < from ? from : smaller(to_column, column + here);
        for (c = column; c < from; c++, to += 32) gather_across(w, image, channels, zero, top, c * stride - w->pad_left, to);
        if (c < to_column) {
            const activation *const at = image + ((ptrdiff_t)top * w->in_width + c * stride - w->pad_left) * channels;
            if (rows == 3 && run >= 8 && run <= 16) { /* the second row has those of sixteen that the first one has not */
                gather_inside(at, line, 3, run, step, 1, to_column - c, to);
            } else {
                gather_inside(at, line, rows, run, step, 0, to_column - c, to);
            }
            to += (ptrdiff_t)(to_column - c) * 32;
        }
        for (c = to_column; c < column + here; c++, to += 32) gather_across(w, image, channels, zero, top, c * stride - w->pad_left, to);
    }
}
