/* e^x of vectors for x <= 0, within 2 units of the last place, below -87.33 0, and of NaN NaN: edgec_expf of runtimes/c/math.h, but
   products are added as floats_accumulate does it. */
INLINE floats floats_exp(floats x) {
    const floats b = floats_max(floats_splat(-88.0f), x), one = floats_splat(1.0f), magic = floats_splat(12582912.0f);
    const floats n = floats_add(floats_accumulate(magic, b, floats_splat(1.44269504f)), floats_splat(-12582912.0f));
    const floats r = floats_accumulate(floats_accumulate(b, n, floats_splat(-0.693359375f)), n, floats_splat(2.12194440e-4f));
    floats p = floats_accumulate(floats_splat(8.36941879e-3f), floats_splat(1.38131424e-3f), r);
    p = floats_accumulate(floats_splat(4.1668456e-2f), p, r);
    p = floats_accumulate(floats_splat(0.166665152f), p, r);
    p = floats_accumulate(floats_splat(0.49999994f), p, r);
    p = floats_accumulate(one, floats_accumulate(one, p, r), r);
    return floats_where_less(x, floats_splat(-87.33f), floats_splat(0.0f), floats_scale(p, n));
}
