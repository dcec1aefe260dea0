/* Words for products of 16-bit codes with 8-bit weights, FLOATS output channels at once; here one: the specification of the other
   headers of this name. No vocabulary adds more than 255 pairs up before it moves the sums on: 510 products of a code and a weight,
   each at most 2^22, stay inside of int32.

   pairs    the weights of two neighbouring inputs, widened to 16 bits; in memory [output channel][2].
   twos     the two inputs of a pixel, for every output channel; twos_last has one input, and 0.
   sums16   sums of products in int32.
   totals   whole numbers below 2^53 in binary64, to which any order adds exactly. */
typedef struct { int32_t first, second; } pairs;
typedef pairs twos;
typedef int32_t sums16;

INLINE pairs pairs_load(const int8_t *w) {
    pairs two;
    two.first = w[0];
    two.second = w[1];
    return two;
}

INLINE twos twos_load(const int16_t *x) {
    twos two;
    two.first = x[0];
    two.second = x[1];
    return two;
}

INLINE twos twos_last(const int16_t *x) {
    twos two;
    two.first = x[0];
    two.second = 0;
    return two;
}

INLINE sums16 sums16_zero(void) { return 0; }
INLINE sums16 sums16_add(sums16 sum, pairs w, twos x) { return sum + (w.first * x.first + w.second * x.second); }
INLINE void totals_add(double *total, const double *before, sums16 sum) { *total = *before + sum; }
/* fl32(fl32(total) * scale). */
INLINE floats totals_scaled(const double *total, const float *scale) { return (float)*total * *scale; }
/* rint(v) + zero of each lane; v is within the bounds of the codes. */
INLINE void codes16_store(int16_t *y, floats v, int32_t zero) { *y = (int16_t)(round_even(v) + zero); }
/* sum + (x - zero) * w of each channel: x and w of FLOATS neighbouring ones. */
INLINE sums16 sums16_each(sums16 sum, const int16_t *x, int32_t zero, const int8_t *w) { return sum + (*x - zero) * *w; }
