/* y[i] = table[x[i]]; x and y may be the same. A permutation picks one of 64 pairs of entries for each 16-bit index. */
INLINE __m512i look_up_half(const __m512i *pairs, __m512i codes) { /* 32 codes, in 16 bits each */
    const __m512i pair = _mm512_srli_epi16(codes, 1);
    const __m512i low = _mm512_permutex2var_epi16(pairs[0], pair, pairs[1]), high = _mm512_permutex2var_epi16(pairs[2], pair, pairs[3]);
    const __m512i found = _mm512_mask_blend_epi16(_mm512_test_epi16_mask(codes, _mm512_set1_epi16(128)), low, high);
    return _mm512_srlv_epi16(found, _mm512_slli_epi16(_mm512_and_si512(codes, _mm512_set1_epi16(1)), 3));
}

INLINE void look_up_64(const __m512i *pairs, const activation *x, activation *y) {
    const __m512i byte = _mm512_set1_epi16(255), codes = _mm512_loadu_si512(x);
    const __m512i even = look_up_half(pairs, _mm512_and_si512(codes, byte)), odd = look_up_half(pairs, _mm512_srli_epi16(codes, 8));
    _mm512_storeu_si512(y, _mm512_or_si512(_mm512_and_si512(even, byte), _mm512_slli_epi16(odd, 8)));
}

KERNEL void look_up(const activation *table, const activation *x, activation *y, int32_t count) {
    __m512i pairs[4];
    activation rest[64];
    int32_t i;
    for (i = 0; i < 4; i++) pairs[i] = _mm512_loadu_si512(table + 64 * i);
    for (i = 0; i + 64 <= count; i += 64) look_up_64(pairs, x + i, y + i);
    if (i == count) return;
    memset(rest, 0, sizeof rest);
    memcpy(rest, x + i, (size_t)(count - i));
    look_up_64(pairs, rest, rest);
    memcpy(y + i, rest, (size_t)(count - i));
}
