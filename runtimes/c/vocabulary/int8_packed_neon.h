/* The codes of two pixels of a panel. Nothing past the `count` first bytes is touched. */

typedef struct { int8x16_t first, second; } packed_t;

INLINE packed_t pack_two(lanes_t a, lanes_t b, int32_t zero, int32_t low, int32_t high) {
    packed_t codes;
    codes.first = pack_codes(a, zero, low, high);
    codes.second = pack_codes(b, zero, low, high);
    return codes;
}

/* Which of them is a literal. */
#define store_packed_1(y, v, row, count) store_codes(y, (row) ? (v).second : (v).first, count)

INLINE void store_codes(activation *y, int8x16_t codes, int32_t count) {
    if (count >= LANES) {
        vst1q_s8(y, codes);
    } else {
        activation part[LANES];
        vst1q_s8(part, codes);
        copy_some(y, part, count);
    }
}

INLINE lanes_t load_codes(const activation *x, int32_t count) { return load_some(x, count); }
