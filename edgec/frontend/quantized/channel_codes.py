"""Codes with a scale for each channel, as NNCF gives them to depthwise convolutions: multiplications around codes of one grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgec.frontend.translation.builder import KEEPS_CODES, Builder
from edgec.frontend.translation.source import Source
from edgec.ops.quantize import SMALLEST
from edgec.ops.rules import axis_of

TYPES = ("int8", "uint8", "int16", "uint16")


@dataclass(frozen=True)
class Channels:
    """What a QuantizeLinear reads, and its constant scales and zero points by index of `axis`."""

    x: str
    scale: np.ndarray
    zero: np.ndarray
    axis: int

    def takes(self, other: Channels) -> bool:
        """Whether `other`, of the DequantizeLinear that reads the codes, has the same parameters."""
        arrays = (self.scale, other.scale), (self.zero, other.zero)
        return self.axis == other.axis and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in arrays)


def is_known(b: Builder, value: str) -> bool:
    """Whether it is a constant, perhaps behind data movement and a DequantizeLinear: weights, which are coded once more."""
    node = b.graph.producer(value)
    while node is not None and node.op in (*KEEPS_CODES, "DequantizeLinear"):
        value = node.inputs[0]
        node = b.graph.producer(value)
    return b.value(value) is not None


def channels_of(b: Builder, s: Source, scale: str, zero: str, kind: str) -> Channels | None:
    """The parameters of a node with a scale for each channel of a float32 value. kind: the type of the codes."""
    steps, middle = b.value(scale), b.value(zero) if zero else None
    if steps is None or steps.ndim != 1 or b.file_type(scale) != "float32" or s.get("block_size", 0) or kind not in TYPES:
        return None
    if (zero and middle is None) or steps.min(initial=1) < SMALLEST:
        return None
    zeros = np.zeros(steps.shape, kind) if middle is None else np.broadcast_to(middle, steps.shape)
    return Channels(s.inputs[0], steps, zeros, axis_of(s.get("axis", 1), b.rank(s.inputs[0])))


def with_one_zero(b: Builder, found: Channels) -> tuple[np.ndarray, np.ndarray] | None:
    """Scales by channel for the least zero point, and that; None where numbers below 0 need the others.

    Of a value that is never negative no code below the zero point is used: a channel gets finer steps for all codes from the least zero
    point on, up to the same largest number.
    """
    least = found.zero.min()
    if (found.zero == least).all():
        return found.scale, least
    most = float(np.iinfo(found.zero.dtype).max)
    finer = (found.scale * ((most - found.zero.astype(np.float64)) / (most - float(least)))).astype(np.float32)
    return (finer, least) if _is_positive(b, found.x) and finer.min() >= SMALLEST else None


def _is_positive(b: Builder, value: str) -> bool:
    """Whether a Relu, or a Clip from 0 or more, makes the value."""
    node = b.graph.producer(value)
    low = b.value(node.input(1)) if node is not None and node.op == "Clip" else None
    return node is not None and (node.op == "Relu" or (low is not None and bool(low >= 0)))


def decode(b: Builder, s: Source, found: Channels) -> bool:
    """The numbers behind the codes of a value with such parameters: (q - z) * s, with q = clamp(rint(x * (1 / s)) + z). False where its
    zero points differ and must."""
    grid = with_one_zero(b, found)
    if grid is None:
        return False
    scale, zero = grid
    shape = [-1 if place == found.axis else 1 for place in range(b.rank(found.x))]
    out = s.outputs[0]
    inverse, step = (
        b.constant(f"{out}_{word}", array.reshape(shape)) for word, array in (("inverse", np.float32(1) / scale), ("scale", scale))
    )
    one = b.constant(f"{out}_one", np.float32(1)), b.constant(f"{out}_zero_point", zero)
    codes = b.emit(s, "QuantizeLinear", [*b.emit(s, "Mul", [found.x, inverse]), *one], attributes={"axis": 1})
    b.emit(s, "Mul", [*b.emit(s, "DequantizeLinear", [*codes, *one], attributes={"axis": 1}), step], s.outputs)
    return True
