/* y[i] = table[code x[i]] for 256 codes, the lowest one first; x and y may be the same. */
enum { FIRST_CODE = (activation)-1 > 0 ? 0 : -128 };

KERNEL void look_up(const activation *table, const activation *x, activation *y, int32_t count) {
    int32_t i;
    for (i = 0; i < count; i++) y[i] = table[x[i] - FIRST_CODE];
}
