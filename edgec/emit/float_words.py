"""Register tiles and headers of the float kernels and of the pools: one FloatWords for each kind of vector unit."""

from __future__ import annotations

from dataclasses import dataclass

from edgec.program.arguments import LANES

PAIRS = ("pack_int8", "product_int8", "product_int8_float", "softmax_int8")  # what attention is made of
TILE_COST = 1  # cost of starting a tile, in pixel rows


@dataclass(frozen=True)
class FloatWords:
    """Tiles that fit the registers of one kind of vector unit, and the headers of runtimes/c/vocabulary that define its words.

    A convolution computes `rows` pixels by `widths` vectors at once; a wider tile is taken while panels are left for it, and
    the last width divides a panel. Depthwise convolution computes `pixels` output pixels by one vector.
    """

    header: str
    pool_headers: tuple[str, ...]  # of the float pools, which are exact on every processor
    pool_int8_headers: tuple[str, ...]  # of the int8 pools, beside those of the int8 kernels
    lanes: int  # floats in a vector
    rows: tuple[int, ...]  # tile heights, the best first
    widths: tuple[int, ...]  # vectors of output channels, the widest first
    codes: str  # the header that reads coded weights
    few: int  # rows that a product with coded weights computes at once, where there are several
    depth: int = 1  # input channels a step: those that one load brings
    pixels: int = 4

    @property
    def spread(self) -> int:
        """Vectors of output channels of a product with coded weights: those of a panel, at most four."""
        return min(LANES // self.lanes, 4)

    def steps(self, block: int) -> list[int]:
        """For 0..block pixels left: the height of the next tile, such that the fewest rows are computed."""
        costs, steps = [0], [0]
        for left in range(1, block + 1):
            cost, height = min((rows + TILE_COST + costs[max(0, left - rows)], -rows) for rows in self.rows)
            costs.append(cost)
            steps.append(-height)
        return steps

    def headers(self, kernels: list[str]) -> list[str]:
        """Headers that those of `kernels` need which are float kernels or pools, in order."""
        pools = [kernel for kernel in kernels if kernel.startswith("pool")]
        exact = [self.header, "pool_float_vectors.h"] if not self.pool_headers else list(self.pool_headers)
        needs = [
            ([self.header, self.codes], any("codes" in kernel for kernel in kernels)),
            (["window.h"], bool(pools) or "depthwise_float" in kernels),
            ([self.header], "conv_float" in kernels or "depthwise_float" in kernels),
            (exact, any("float" in kernel for kernel in pools)),
            ([*self.pool_int8_headers, "bytes_some.h"], any("int8" in kernel for kernel in pools)),
            (list(self.pool_int8_headers), any(kernel in PAIRS for kernel in kernels)),
        ]
        return list(dict.fromkeys(header for headers, needed in needs if needed for header in headers))


_SCALAR_POOL = ("pool_float_portable.h",)
PORTABLE = FloatWords("float_portable.h", _SCALAR_POOL, ("bytes_portable.h", "sums_portable.h"), 1, (4, 1), (4,), "codes_portable.h", 2)
SSE41 = FloatWords("float_sse41.h", (), ("bytes_x86.h", "sums_sse41.h"), 4, (6, 4, 1), (2,), "codes_sse41.h", 2)
AVX2 = FloatWords("float_avx2.h", (), ("bytes_x86.h", "sums_avx2.h"), 8, (6, 4, 1), (2,), "codes_avx2.h", 4)
AVX512 = FloatWords("float_avx512.h", (), ("bytes_x86.h", "sums_avx512.h"), 16, (7, 1), (2, 1), "codes_avx512.h", 4, pixels=8)
NEON = FloatWords("float_neon.h", (), ("bytes_neon.h", "sums_neon.h"), 4, (8, 4, 1), (2,), "codes_neon.h", 4, depth=4)
WASM128 = FloatWords("float_wasm128.h", (), ("bytes_wasm128.h", "sums_wasm128.h"), 4, (6, 4, 1), (2,), "codes_wasm128.h", 2)
# ARMv7 NEON flushes denormals, so its float pools are scalar.
NEON32 = FloatWords("float_neon32.h", _SCALAR_POOL, ("bytes_neon.h", "sums_neon.h"), 4, (4, 1), (2,), "codes_neon.h", 2, depth=4)
