"""Headers of the float kernels and of the pools: one FloatWords for each kind of vector unit."""

from __future__ import annotations

from dataclasses import dataclass

PAIRS = ("pack_int8", "product_int8", "product_int8_float", "softmax_int8")  # what attention is made of

FLOATS = ("conv_float", "depthwise_float", "product_float", "attention_float", "swish_float", "gelu_float")


@dataclass(frozen=True)
class FloatWords:
    """The headers of runtimes/c/vocabulary that define the words of one kind of vector unit."""

    header: str
    pool_headers: tuple[str, ...]  # of the float pools, which are exact on every processor
    pool_int8_headers: tuple[str, ...]  # of the int8 pools, beside those of the int8 kernels
    codes: str  # the header that reads coded weights
    norm: str  # the header of what normalizations of codes are made of

    def headers(self, kernels: list[str]) -> list[str]:
        """Headers that those of `kernels` need which are float kernels or pools, in order."""
        pools = [kernel for kernel in kernels if kernel.startswith("pool")]
        exact = [self.header, "pool_float_vectors.h"] if not self.pool_headers else list(self.pool_headers)
        needs = [
            ([self.header, self.codes], any("codes" in kernel for kernel in kernels)),
            (["window.h"], bool(pools) or any(kernel in kernels for kernel in ("depthwise_float", "depthwise_half"))),
            ([self.header], any(kernel in FLOATS for kernel in kernels)),
            (exact, any("float" in kernel for kernel in pools)),
            ([*self.pool_int8_headers, "bytes_some.h"], any("int8" in kernel for kernel in pools)),
            (list(self.pool_int8_headers), "multiply_int8" in kernels or any(kernel in PAIRS for kernel in kernels)),
            ([*self.pool_int8_headers, self.norm], "layer_norm_int8" in kernels),
        ]
        return list(dict.fromkeys(header for headers, needed in needs if needed for header in headers))


_SCALAR_POOL = ("pool_float_portable.h",)
PORTABLE = FloatWords("float_portable.h", _SCALAR_POOL, ("bytes_portable.h", "sums_portable.h"), "codes_portable.h", "norm_portable.h")
SSE41 = FloatWords("float_sse41.h", (), ("bytes_x86.h", "sums_sse41.h"), "codes_sse41.h", "norm_sse41.h")
AVX2 = FloatWords("float_avx2.h", (), ("bytes_x86.h", "sums_avx2.h"), "codes_avx2.h", "norm_avx2.h")
AVX512 = FloatWords("float_avx512.h", (), ("bytes_x86.h", "sums_avx512.h"), "codes_avx512.h", "norm_avx512.h")
NEON = FloatWords("float_neon.h", (), ("bytes_neon.h", "sums_neon.h"), "codes_neon.h", "norm_neon.h")
WASM128 = FloatWords("float_wasm128.h", (), ("bytes_wasm128.h", "sums_wasm128.h"), "codes_wasm128.h", "norm_wasm128.h")
# ARMv7 NEON and Helium flush denormals, so their float pools are scalar.
HELIUM = FloatWords("float_helium.h", _SCALAR_POOL, ("bytes_helium.h", "sums_neon.h"), "codes_helium.h", "norm_helium.h")
NEON32 = FloatWords("float_neon32.h", _SCALAR_POOL, ("bytes_neon.h", "sums_neon.h"), "codes_neon.h", "norm_neon.h")
