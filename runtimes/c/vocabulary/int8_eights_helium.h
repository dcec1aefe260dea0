/* Eight int32 lanes, the even and the odd ones apart: so widening from 16 bits parts them, and narrowing joins them again. */

typedef struct { int32x4_t even, odd; } eight_t;

INLINE eight_t load_eight(const int32_t *from) {
    const int32x4x2_t parts = vld2q_s32(from);
    eight_t v;
    v.even = parts.val[0];
    v.odd = parts.val[1];
    return v;
}

INLINE eight_t widened(int16x8_t codes) {
    eight_t v;
    v.even = vmovlbq_s16(codes);
    v.odd = vmovltq_s16(codes);
    return v;
}

/* settle() without its bounds; scales: as vld2q_f32 has them, and so `behind`, what the function gives is multiplied by. */
INLINE eight_t settle_eight(eight_t sum, float32x4x2_t scales, float32x4x2_t behind, ending_t e) {
    sum.even = requantize_4(sum.even, scales.val[0], behind.val[0], e);
    sum.odd = requantize_4(sum.odd, scales.val[1], behind.val[1], e);
    return sum;
}

INLINE eight_t bound_eight(eight_t v, float low, float high) {
    v.even = bounded(v.even, low, high);
    v.odd = bounded(v.odd, low, high);
    return v;
}

/* add_residual() without its bounds. */
INLINE eight_t add_eight(eight_t v, float v_scale, eight_t r, int32_t zero, float r_scale) {
    v.even = add_residual_4(v.even, v_scale, r.even, zero, r_scale);
    v.odd = add_residual_4(v.odd, v_scale, r.odd, zero, r_scale);
    return v;
}

/* Stores v + zero as codes, at least `low` and at most `high`: narrowing and adding saturate. */
INLINE void store_eight(activation *y, eight_t v, int32_t zero, int16x8_t low, int16x8_t high, mve_pred16_t some) {
    const int16x8_t codes = vqaddq_n_s16(vqmovntq_s32(vqmovnbq_s32(vuninitializedq_s16(), v.even), v.odd), (int16_t)zero);
    vstrbq_p_s16(y, vminq_s16(vmaxq_s16(codes, low), high), some);
}
