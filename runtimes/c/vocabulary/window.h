SCALAR_BEGIN
/* Taps [begin, end) of a sliding window, along one axis, whose positions lie in [first, last). */
struct span {
    int32_t begin, end;
};

/* The window's tap t lies at origin + t * dilation. */
INLINE struct span span_of(int32_t origin, int32_t taps, int32_t dilation, int32_t first, int32_t last) {
    struct span span;
    span.begin = origin >= first ? 0 : (first - origin + dilation - 1) / dilation;
    span.end = origin >= last ? 0 : (last - origin + dilation - 1) / dilation;
    if (span.end > taps) span.end = taps;
    if (span.begin > span.end) span.begin = span.end;
    return span;
}

INLINE float minus_infinity(void) {
    const uint32_t bits = 0xff800000u;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
SCALAR_END
