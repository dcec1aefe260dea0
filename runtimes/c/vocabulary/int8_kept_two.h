/* Taps in memory. Of each vector that they are, 16 bytes belong to 16 channels of a pixel; as the vectors lie `part` bytes apart,
   pixels that are kept one after the other are neighbours in each, and any of them may be the first of those that are loaded. */

INLINE void keep_taps(activation *to, ptrdiff_t part, taps_t taps) {
    store_row(to, taps.low);
    store_row(to + part, taps.high);
}

INLINE taps_t kept_taps(const activation *from, ptrdiff_t part) {
    taps_t taps;
    taps.low = load_row(from);
    taps.high = load_row(from + part);
    return taps;
}
