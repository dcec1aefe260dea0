/* Windows of three rows of nine codes, where the first eight of a row are two steps of inputs in the image itself, and the three ninth codes
   are a step of their own. Rows of the image lie in lines, with what is left and right of them. */

enum { LINE_BEFORE = 64, LINE_SLACK = 192, LINE_STEPS = 7 };

/* Columns are an even number of codes apart, so that words can be picked, and few enough for sixteen of them to lie in two registers. */
INLINE int fits_lines(const window_t *w, int32_t channels) {
    const int32_t step = w->stride_width * channels;
    return w->kernel_height == 3 && w->kernel_width * channels == 9 && w->dilation_height == 1 && step % 2 == 0 && step <= 8 &&
           w->pad_left * channels <= LINE_BEFORE;
}

/* Codes that lie under a row of windows. */
INLINE int32_t line_codes(const window_t *w, int32_t channels) { return ((w->out_width - 1) * w->stride_width + w->kernel_width) * channels; }

INLINE int32_t line_bytes(const window_t *w, int32_t channels) { return (LINE_BEFORE + line_codes(w, channels) + LINE_SLACK + 63) / 64 * 64; }

/* `row` of the image, whose first code is LINE_BEFORE after `line`; without one all is outside. */
KERNEL void fill_line(const window_t *w, const activation *row, int32_t channels, int32_t zero, activation *line) {
    const __m512i outside = _mm512_set1_epi8((char)zero);
    const int32_t all = line_codes(w, channels) - w->pad_left * channels, inside = row ? smaller(w->in_width * channels, all) : 0;
    activation *const to = line + LINE_BEFORE;
    int32_t i;
    _mm512_storeu_si512((void *)line, outside);
    for (i = 0; i + 64 <= inside; i += 64) _mm512_storeu_si512((void *)(to + i), _mm512_loadu_si512((const void *)(row + i)));
    if (i < inside) {
        const __mmask64 last = ((uint64_t)1 << (inside - i)) - 1;
        _mm512_storeu_si512((void *)(to + i), _mm512_mask_loadu_epi8(outside, last, (const void *)(row + i)));
        i += 64;
    }
    for (; i < all; i += 64) _mm512_storeu_si512((void *)(to + i), outside);
}

INLINE __m512i pick_words(const activation *x, __m512i order) {
    return _mm512_permutex2var_epi16(_mm512_loadu_si512((const void *)x), order, _mm512_loadu_si512((const void *)(x + 64)));
}

/* The codes at three places and every `step` further, four bytes of `to` for each place of `count`, of which the last weighs nothing. */
KERNEL void join_ninths(const activation *x, const activation *y, const activation *z, ptrdiff_t step, int32_t count, activation *to) {
    const __m512i columns = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i order = _mm512_mullo_epi32(columns, _mm512_set1_epi32((int)step / 2 * 0x10001));
    int32_t i;
    for (i = 0; i < count; i += 16, x += 16 * step, y += 16 * step, z += 16 * step) {
        const __m512i second = _mm512_slli_epi32(pick_words(y, order), 8);
        const __m512i two = _mm512_ternarylogic_epi32(_mm512_set1_epi32(0xFF), pick_words(x, order), second, 0xCA);
        _mm512_storeu_si512((void *)(to + 4 * i), _mm512_ternarylogic_epi32(_mm512_set1_epi32(0xFFFF), two, pick_words(z, order), 0xCA));
    }
}

/* The weights of a panel for these steps, of those for 27 codes one after the other. */
INLINE void weights_of_lines(const int8_t *w, int8_t *to) {
    __m512i four[LINE_STEPS];
    int32_t k;
    for (k = 0; k < LINE_STEPS; k++) four[k] = _mm512_loadu_si512((const void *)(w + k * 64));
    for (k = 0; k < LINE_STEPS - 1; k++) {
        const int32_t first = k / 2 * 9 + k % 2 * 4, bits = first % 4 * 8;
        const __m512i low = _mm512_srl_epi32(four[first / 4], _mm_cvtsi32_si128(bits));
        const __m512i high = _mm512_sll_epi32(four[first / 4 + 1], _mm_cvtsi32_si128(32 - bits));
        _mm512_storeu_si512((void *)(to + k * 64), _mm512_or_si512(low, high));
    }
    four[2] = _mm512_ternarylogic_epi32(_mm512_set1_epi32(0xFF), four[2], four[4], 0xCA);
    four[2] = _mm512_ternarylogic_epi32(_mm512_set1_epi32(0xFFFF), four[2], _mm512_and_si512(four[6], _mm512_set1_epi32(0xFFFFFF)), 0xCA);
    _mm512_storeu_si512((void *)(to + (LINE_STEPS - 1) * 64), four[2]);
}
