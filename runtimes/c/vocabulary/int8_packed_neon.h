/* A register of codes is a pixel of a panel. Nothing past the `count` first bytes is touched. */

#define store_packed_1(y, v, row, count) store_codes(y, v, count)

INLINE void store_codes(activation *y, packed_t codes, int32_t count) {
    if (count >= LANES) {
        vst1q_s8(y, codes);
    } else {
        activation part[LANES];
        vst1q_s8(part, codes);
        copy_some(y, part, count);
    }
}

INLINE lanes_t load_codes(const activation *x, int32_t count) { return load_some(x, count); }
