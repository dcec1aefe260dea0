/* e^x of vectors: the operations of edgec_expf in runtimes/c/math.h, one after another, so that the bits are the same. */
INLINE floats floats_exp(floats x) {
    const floats b = floats_max(floats_splat(-88.0f), floats_min(floats_splat(89.0f), x)), magic = floats_splat(12582912.0f);
    const floats n = floats_add(floats_add(floats_multiply(b, floats_splat(1.44269504f)), magic), floats_splat(-12582912.0f));
    const floats r = floats_add(floats_add(b, floats_multiply(n, floats_splat(-0.693359375f))), floats_multiply(n, floats_splat(2.12194440e-4f)));
    floats p = floats_add(floats_multiply(floats_splat(1.38131424e-3f), r), floats_splat(8.36941879e-3f));
    p = floats_add(floats_multiply(p, r), floats_splat(4.1668456e-2f));
    p = floats_add(floats_multiply(p, r), floats_splat(0.166665152f));
    p = floats_add(floats_multiply(p, r), floats_splat(0.49999994f));
    p = floats_add(floats_add(floats_multiply(floats_multiply(r, r), p), r), floats_splat(1.0f));
    return floats_where_less(x, floats_splat(-87.33f), floats_splat(0.0f), floats_scale(p, n));
}
