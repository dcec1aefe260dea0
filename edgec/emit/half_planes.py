"""Loops that do nothing but round floats to halves: planes of them, side by side, as a function of runtimes/c/scalar.h does in vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgec.emit.look_ups import origin, perfect, split
from edgec.ir.types import DType
from edgec.kernels.halves import LARGEST
from edgec.program.expr import Binary, Const, Expr, Load, binary, const
from edgec.program.program import For

MOST = 4  # planes


@dataclass(frozen=True)
class HalfPlanes:
    """y[y_origin + i * planes + j] = x[x_origin + j * plane + i], for each i of the loop, in the range of halves and rounded to them."""

    x: str
    x_origin: Expr
    plane: int
    planes: int
    y: str
    y_origin: Expr


def half_planes(loop: For, halves: Mapping[str, str]) -> HalfPlanes | None:
    """What a loop does where that is all; halves: the buffers of 16 bits, and of which kind."""
    loops, store = perfect(loop)
    if store is None or len(loops) > 2 or halves.get(store.buffer) != "half":
        return None
    read = _clipped(store.value)
    to = origin(store.index, loops)
    if read is None or read.buffer in halves or to is None:
        return None
    rest = origin(read.index, loops[:1])
    if rest is None or len(loops) == 1:
        return None if rest is None else HalfPlanes(read.buffer, rest, 0, 1, store.buffer, to)
    parts, inner = split(rest, loops[1].var), loops[1].extent
    if parts is None or not isinstance(inner, Const) or not 1 < inner.value <= MOST:
        return None
    return HalfPlanes(read.buffer, parts[1], parts[0], int(inner.value), store.buffer, to)


def _clipped(value: Expr) -> Load | None:
    """The float of which a value is the nearest in the range of halves, where it is that of one in memory."""
    found: Expr = value
    while not isinstance(found, Load):
        if not isinstance(found, Binary):
            return None
        found = found.b
    clipped = binary("min", const(LARGEST), binary("max", const(-LARGEST), found))
    return found if found.dtype is DType.FLOAT32 and clipped == value else None
