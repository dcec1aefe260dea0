INLINE sums16 sums16_add(sums16 sum, pairs w, twos x) { return _mm256_dpwssd_avx_epi32(sum, w, x); }
