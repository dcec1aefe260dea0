/* Words that follow from an int8 vocabulary's own: partial panels never touch a byte past a pixel's channels. */

/* Copies the `count` < 16 first of 16 bytes. */
INLINE void copy_some(activation *to, const activation *from, int32_t count) {
    if (count & 8) {
        memcpy(to, from, 8);
        to += 8;
        from += 8;
    }
    if (count & 4) {
        memcpy(to, from, 4);
        to += 4;
        from += 4;
    }
    if (count & 2) {
        memcpy(to, from, 2);
        to += 2;
        from += 2;
    }
    if (count & 1) *to = *from;
}

INLINE void store_some(activation *y, lanes_t v, int32_t zero, int32_t count) {
    if (count >= LANES) {
        store_lanes(y, v, zero);
    } else {
        activation part[LANES];
        store_lanes(part, v, zero);
        copy_some(y, part, count);
    }
}

INLINE lanes_t load_some(const activation *x, int32_t count) {
    activation part[LANES] = {0};
    if (count >= LANES) return load_lanes(x);
    copy_some(part, x, count);
    return load_lanes(part);
}

INLINE void scale_some(float *y, lanes_t sum, const float *scale, int32_t count) {
    if (count >= LANES) {
        scale_lanes(y, sum, scale);
    } else {
        float part[LANES];
        int32_t i;
        scale_lanes(part, sum, scale);
        for (i = 0; i < count; i++) y[i] = part[i];
    }
}

INLINE const activation *pixel_at(const void *const *taps, int32_t pixel, int32_t channel) {
    return (const activation *)taps[pixel] + channel;
}

/* clamp(rint(fl32(fl32(sum) * scale)), low, high), ties to even. */
INLINE lanes_t requantize(lanes_t sum, const float *scale, float low, float high) { return settle(sum, scale, ending(low, high)); }
