INLINE void totals_add(double *total, const double *before, sums16 sum) {
    vst1q_f64(total, vaddq_f64(vld1q_f64(before), vcvtq_f64_s64(vmovl_s32(vget_low_s32(sum)))));
    vst1q_f64(total + 2, vaddq_f64(vld1q_f64(before + 2), vcvtq_f64_s64(vmovl_s32(vget_high_s32(sum)))));
}

INLINE floats totals_scaled(const double *total, const float *scale) {
    return vmulq_f32(vcombine_f32(vcvt_f32_f64(vld1q_f64(total)), vcvt_f32_f64(vld1q_f64(total + 2))), vld1q_f32(scale));
}

INLINE void codes16_store(int16_t *y, floats v, int32_t zero) {
    vst1_s16(y, vmovn_s32(vaddq_s32(vcvtnq_s32_f32(v), vdupq_n_s32(zero))));
}
