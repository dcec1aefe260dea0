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

/* How a residual is added. */
typedef struct { float scale, r_scale; int32_t r_zero, zero; } addition_t;

INLINE addition_t addition_of(float scale, float r_scale, int32_t r_zero, int32_t zero) {
    addition_t sum;
    sum.scale = scale;
    sum.r_scale = r_scale;
    sum.r_zero = r_zero;
    sum.zero = zero;
    return sum;
}

INLINE int8x16_t added_codes(lanes_t sums, const float *scale, ending_t e, int8x16_t residual, addition_t sum) {
    return saturated_codes(add_codes(sums, scale, e, sum.scale, residual, sum.r_zero, sum.r_scale), sum.zero);
}
