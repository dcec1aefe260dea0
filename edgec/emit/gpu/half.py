"""Which numbers of a float package a GPU stores in 16 bits, and where.

Behind the arena lies a second one for halves, behind the weights a second blob: element i of a float32 tensor, counted from the start of
its region, is element i of the region's halves, so shaders find a number by the same index in either form. A tensor of the arena is stored
as halves where every call that touches it, or shares its memory by a view, runs on the GPU: the CPU's kernels know no halves. The caller's
tensors and the biases stay float32. Finite numbers beyond the range of halves are stored as its ends, so that no sum becomes infinite.

Weights of convolutions are stored times the power of two that brings their largest to 1/16 .. 1/8: small ones keep their digits,
and a sum of STRETCH products with numbers in the range of halves stays there. Their kernel multiplies its sums by the inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import frexp

import numpy as np

from edgec.ir.types import DType
from edgec.kernels import ConvFloat, DepthwiseFloat
from edgec.program.program import Kind, Program, TemplateCall

ALIGNMENT = 256  # of the halves behind each region: what any device wants of a storage buffer's start
STRETCH = 8  # products that are summed in float16 where there is such arithmetic, before a float32 sum takes them
LARGEST = 65504.0
_LARGEST_WEIGHT = -3  # its binary exponent: no weight is larger than 2 ** -3


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


NO_HALVES = Halves()


def plan_halves(program: Program, on_gpu: Sequence[bool]) -> Halves:
    """on_gpu: for each call of a planned Program, whose constants have addresses, whether it runs on the GPU."""
    weights = dict(_weights(program, on_gpu))
    constants = [buffer for buffer in program.buffers.values() if buffer.kind is Kind.CONSTANT]
    arena_start = _aligned(program.arena_bytes)
    weights_start = _aligned(max([(buffer.address or 0) + buffer.max_bytes for buffer in constants], default=0) + ALIGNMENT)
    ends = [item.address // 2 + item.count * 2 for item in weights.values()]
    return Halves(
        _tensors(program, on_gpu),
        weights,
        arena_start,
        _aligned(-(-program.arena_bytes // 2)),
        weights_start,
        _aligned(max(ends, default=0)),
    )


def _aligned(count: int) -> int:
    return -(-count // ALIGNMENT) * ALIGNMENT


def _tensors(program: Program, on_gpu: Sequence[bool]) -> frozenset[str]:
    def root(name: str) -> str:
        parent = program.buffers[name].parent
        return name if parent is None else root(parent)

    roots = {name: root(name) for name in program.buffers}
    kept = {roots[name] for name, buffer in program.buffers.items() if buffer.dtype is not DType.FLOAT32 or buffer.kind is not Kind.ARENA}
    for call, there in zip(program.calls, on_gpu, strict=True):
        kept |= set() if there else {roots[name] for name in (*call.call.reads, *call.call.writes)}
    return frozenset(name for name in program.buffers if roots[name] not in kept)


def _weights(program: Program, on_gpu: Sequence[bool]) -> list[tuple[str, HalfWeights]]:
    found = []
    for call, there in zip(program.calls, on_gpu, strict=True):
        arguments = call.arguments if isinstance(call, TemplateCall) else None
        if not there or not isinstance(arguments, (ConvFloat, DepthwiseFloat)):
            continue
        buffer = program.buffers[arguments.weights.buffer]
        if buffer.kind is Kind.CONSTANT and buffer.parent is None:
            assert buffer.data is not None and buffer.address is not None, f"{buffer.name} has no address"
            found.append((buffer.name, HalfWeights(buffer.address, buffer.data.size, _exponent(buffer.data))))
    return found


def _exponent(data: np.ndarray) -> int:
    """Of the power of two that brings the largest finite magnitude below 2 ** -3, within what one float32 factor can undo."""
    largest = float(np.max(np.abs(data), where=np.isfinite(data), initial=0.0))
    return max(-100, min(100, _LARGEST_WEIGHT - frexp(largest)[1])) if largest else 0
