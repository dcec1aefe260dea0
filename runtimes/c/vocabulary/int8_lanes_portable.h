/* The int8 words in plain C: the specification of every other vocabulary.

   lanes_t        16 int32 lanes: the channels of one panel at one pixel.
   accumulator_t  running sums of a panel (elsewhere: of a part of it); start() begins with the bias.
   pixels_t       k_step blocks of 4 input channels of one pixel; weights_t the same of a panel.
   dot            sum + the products of weights and pixels, each exact.
   settle         clamp(rint(shaped(fl32(fl32(sum) * scale), scale, e)), e.low, e.high), ties to even.
   add_residual   clamp(rint(fl32(fl32(v) * v_scale) + fl32(fl32(r - zero) * r_scale)), low, high).
   scale_lanes    y[i] = fl32(fl32(sum) * scale), for sums that become floats. */

typedef struct { int32_t lane[LANES]; } lanes_t;

INLINE lanes_t settle(lanes_t sum, const float *scale, ending_t e) {
    int i;
    for (i = 0; i < LANES; i++) sum.lane[i] = round_even(clamp_float(shaped((float)sum.lane[i] * scale[i], scale + i, e), e.low, e.high));
    return sum;
}

INLINE lanes_t add_residual(lanes_t v, float v_scale, lanes_t r, int32_t zero, float r_scale, float low, float high) {
    int i;
    for (i = 0; i < LANES; i++) {
        const float a = (float)v.lane[i] * v_scale, b = (float)(r.lane[i] - zero) * r_scale;
        v.lane[i] = round_even(clamp_float(a + b, low, high));
    }
    return v;
}

INLINE lanes_t load_lanes(const activation *x) {
    lanes_t v;
    int i;
    for (i = 0; i < LANES; i++) v.lane[i] = x[i];
    return v;
}

INLINE void store_lanes(activation *y, lanes_t v, int32_t zero) {
    int i;
    for (i = 0; i < LANES; i++) y[i] = (activation)(v.lane[i] + zero);
}

INLINE void scale_lanes(float *y, lanes_t sum, const float *scale) {
    int i;
    for (i = 0; i < LANES; i++) y[i] = (float)sum.lane[i] * scale[i];
}
