INLINE sums16 sums16_add(sums16 sum, pairs w, twos x) { return _mm256_add_epi32(sum, _mm256_madd_epi16(w, x)); }
