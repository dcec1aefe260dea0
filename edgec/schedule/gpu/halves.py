"""Which numbers of a float package a GPU stores in 16 bits: edgec/program/halves.py says how."""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp

import numpy as np

from edgec.ir.types import DType
from edgec.kernels import ConvFloat, DepthwiseFloat
from edgec.program.halves import HalfWeights, Halves
from edgec.program.program import Kind, Program, TemplateCall

ALIGNMENT = 256  # of the halves behind each region: what any device wants of a storage buffer's start
_LARGEST_WEIGHT = -3  # its binary exponent: no weight is larger than 2 ** -3


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
    roots = {name: program.root(name) for name in program.buffers}
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
