"""Which numbers of a float package a GPU stores in 16 bits, and where.

Behind the arena lies a second one for halves, behind the weights a second blob: element i of a float32 tensor, counted from the start of
its region, is element i of the region's halves, so shaders find a number by the same index in either form. A tensor of the arena is stored
as halves where every call that touches it, or shares its memory by a view, runs on the GPU: the CPU's kernels know no halves. The caller's
tensors and the biases stay float32. Finite numbers beyond the range of halves are stored as its ends, so that no sum becomes infinite.

Weights of convolutions are stored times the power of two that brings their largest to 1/16 .. 1/8: small ones keep their digits,
and a sum of STRETCH products with numbers in the range of halves stays there. Their kernel multiplies its sums by the inverse.
"""

from __future__ import annotations

from dataclasses import dataclass, field

STRETCH = 8  # products that are summed in float16 where there is such arithmetic, before a float32 sum takes them
LARGEST = 65504.0


@dataclass(frozen=True)
class HalfWeights:
    """A constant of float32 numbers that is stored as halves, each times 2 ** exponent. address: bytes, in the weights."""

    address: int
    count: int
    exponent: int


@dataclass(frozen=True)
class Halves:
    """tensors: the buffers, views too, of the arena's halves; weights: constants by name; where the halves of both regions start, in
    bytes from the regions' own starts, and how many bytes they have."""

    tensors: frozenset[str] = frozenset()
    weights: dict[str, HalfWeights] = field(default_factory=dict)
    arena_start: int = 0
    arena_bytes: int = 0
    weights_start: int = 0
    weights_bytes: int = 0

    def __bool__(self) -> bool:
        return bool(self.tensors or self.weights)


NO_HALVES = Halves()
