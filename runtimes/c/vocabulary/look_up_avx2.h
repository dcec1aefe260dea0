/* y[i] = table[x[i]]; x and y may be the same. Sixteen entries a shuffle, which gives 0 where the top bit of an index is set.
   Part p holds the differences (xor) from part p - 1: with indices that go down by 16 a part, and stay below 0 when they
   are, the sum of all shuffles is the entry. Indices from 128 on start over in the second half. */
INLINE __m256i look_up_32(const __m256i *parts, __m256i x) {
    const __m256i sixteen = _mm256_set1_epi8(16);
    __m256i low = x, high = _mm256_xor_si256(x, _mm256_set1_epi8((char)0x80)), y = _mm256_setzero_si256();
    int32_t p;
    for (p = 0; p < 8; p++) {
        y = _mm256_xor_si256(y, _mm256_xor_si256(_mm256_shuffle_epi8(parts[p], low), _mm256_shuffle_epi8(parts[p + 8], high)));
        low = _mm256_subs_epi8(low, sixteen);
        high = _mm256_subs_epi8(high, sixteen);
    }
    return y;
}

KERNEL void look_up(const activation *table, const activation *x, activation *y, int32_t count) {
    __m256i parts[16];
    activation rest[32];
    int32_t i, p;
    for (p = 0; p < 16; p++) {
        const __m128i part = _mm_loadu_si128((const __m128i *)(table + 16 * p));
        const __m128i before = p % 8 ? _mm_loadu_si128((const __m128i *)(table + 16 * p - 16)) : _mm_setzero_si128();
        parts[p] = _mm256_broadcastsi128_si256(_mm_xor_si128(part, before));
    }
    for (i = 0; i + 32 <= count; i += 32) {
        _mm256_storeu_si256((__m256i *)(y + i), look_up_32(parts, _mm256_loadu_si256((const __m256i *)(x + i))));
    }
    if (i == count) return;
    memset(rest, 0, sizeof rest);
    memcpy(rest, x + i, (size_t)(count - i));
    _mm256_storeu_si256((__m256i *)rest, look_up_32(parts, _mm256_loadu_si256((const __m256i *)rest)));
    memcpy(y + i, rest, (size_t)(count - i));
}
