/* Words for coded weights, one lane: the specification of the other headers of codes. */
typedef int32_t codes;

/* Vector v of a panel's 16 bytes, the sign in all bits above. */
INLINE codes codes_part(const int8_t *panel, int v) { return panel[v]; }
/* The bytes as floats, and their halves, from -8 to 7. */
INLINE floats codes_whole(codes c) { return (float)c; }
INLINE floats codes_low(codes c) { return (float)((c & 15) - (c & 8) * 2); }
INLINE floats codes_high(codes c) { return (float)((c - (c & 15)) / 16); }
