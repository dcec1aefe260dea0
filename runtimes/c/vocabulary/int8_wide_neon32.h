/* dot for weights of -128 to 127: two products of them may not fit 16 bits, one does. */
INLINE accumulator_t dot_wide(accumulator_t sum, weights_t w, pixels_t x) {
    sum.low = vpadalq_s16(sum.low, vmull_s8(vget_low_s8(w.a), x.a));
    sum.high = vpadalq_s16(sum.high, vmull_s8(vget_high_s8(w.a), x.a));
    sum.low = vpadalq_s16(sum.low, vmull_s8(vget_low_s8(w.b), x.b));
    sum.high = vpadalq_s16(sum.high, vmull_s8(vget_high_s8(w.b), x.b));
    return sum;
}
