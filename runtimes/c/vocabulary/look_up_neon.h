/* y[i] = table[x[i] + 128]; x and y may be the same. A look-up spans 64 entries; indices beyond them leave the result alone. */
INLINE uint8x16x4_t table_part(const uint8_t *table) {
    uint8x16x4_t part;
    part.val[0] = vld1q_u8(table), part.val[1] = vld1q_u8(table + 16), part.val[2] = vld1q_u8(table + 32), part.val[3] = vld1q_u8(table + 48);
    return part;
}

KERNEL void look_up(const activation *table, const activation *x, activation *y, int32_t count) {
    const uint8_t *const entries = (const uint8_t *)table;
    const uint8x16x4_t a = table_part(entries), b = table_part(entries + 64), c = table_part(entries + 128), d = table_part(entries + 192);
    const uint8x16_t step = vdupq_n_u8(64);
    int32_t i;
    for (i = 0; i + 16 <= count; i += 16) {
        uint8x16_t index = veorq_u8(vld1q_u8((const uint8_t *)x + i), vdupq_n_u8(128));
        uint8x16_t found = vqtbl4q_u8(a, index);
        found = vqtbx4q_u8(found, b, index = vsubq_u8(index, step));
        found = vqtbx4q_u8(found, c, index = vsubq_u8(index, step));
        found = vqtbx4q_u8(found, d, vsubq_u8(index, step));
        vst1q_u8((uint8_t *)y + i, found);
    }
    for (; i < count; i++) y[i] = table[x[i] + 128];
}
