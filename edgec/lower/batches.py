"""What products of two computed matrices share: their operands and results in memory, and the batch axes that kernels walk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product as every

from edgec.integer.tails import sole_reader
from edgec.ir.types import DType
from edgec.lower.builder import Lowering, Unsupported
from edgec.lower.values import Extents, Order, Value, View, fixed, is_one, packed_strides, row_major
from edgec.program.expr import Const, Expr, const

NESTED = 2  # batch axes that a kernel walks itself


@dataclass(frozen=True)
class Batch:
    """Batch axes as kernels walk them: `sizes` of the outer and the inner one, their strides in each tensor, and where these begin."""

    sizes: tuple[Expr, Expr]
    strides: tuple[tuple[Expr, Expr], ...]
    offsets: tuple[Expr, ...]


def view_of(value: Value) -> View:
    assert value.view is not None
    return value.view


def is_forward(view: View) -> bool:
    return not any(isinstance(stride, Const) and stride.value < 0 for stride in view.strides)


def in_memory(lowering: Lowering, name: str, value: Value) -> Value:
    """`value`, which is called `name`, in row-major order."""
    stored = lowering.materialize(value, name, row_major(value.rank))
    lowering.keep(name, value, stored)
    return stored


def matrices_in_memory(lowering: Lowering, name: str, value: Value) -> Value:
    """`value` in memory, however it lies there."""
    return value if value.view is not None and is_forward(value.view) else in_memory(lowering, name, value)


def result_in_memory(lowering: Lowering, name: str, dtype: DType, shape: Extents) -> Value:
    """Memory for the result, in the order that a Transpose behind it wants."""
    order = _wanted(lowering, name, len(shape))
    y = lowering.place(name, dtype, shape, order)
    return y if is_one(shape[-1]) or view_of(y).strides[-1] == const(1) else lowering.dense(name, dtype, shape, row_major(len(shape)))


def _wanted(lowering: Lowering, name: str, rank: int) -> Order:
    reader = sole_reader(lowering.graph, name)
    if reader is not None and reader.op == "DequantizeLinear":
        reader = sole_reader(lowering.graph, reader.outputs[0])
    if reader is not None and reader.op == "Transpose" and reader.attributes["perm"][-1] == rank - 1:
        return tuple(int(axis) for axis in reader.attributes["perm"])
    return row_major(rank)


def broadcast(a: Extents, b: Extents) -> Extents:
    rank = max(len(a), len(b))
    left, right = (const(1),) * (rank - len(a)) + a, (const(1),) * (rank - len(b)) + b
    return tuple(y if is_one(x) else x for x, y in zip(left, right, strict=True))


def panel_strides(own: Extents, step: Expr, lead: Extents) -> Extents:
    """Of the batch axes `lead`, which matrices with the batch axes `own` broadcast to, packed into `step` elements each."""
    found = [
        const(0) if is_one(size) else stride * step for size, stride in zip(own, packed_strides(own, row_major(len(own))), strict=True)
    ]
    return (*(const(0),) * (len(lead) - len(found)), *found)


def walks(lead: Extents, strides: Sequence[Extents]) -> Iterator[Batch]:
    """The batch axes by twos, those merged that lie evenly in all tensors; of more than two the first ones are walked here."""
    axes: list[tuple[Expr, tuple[Expr, ...]]] = []
    for size, *steps in zip(lead, *strides, strict=True):
        if is_one(size):
            continue
        if axes and all(before == step * size for before, step in zip(axes[-1][1], steps, strict=True)):
            axes[-1] = (axes[-1][0] * size, tuple(steps))
        else:
            axes.append((size, tuple(steps)))
    none = tuple(const(0) for _ in strides)
    axes = [(const(1), none)] * (NESTED - len(axes)) + axes
    far, near = axes[:-NESTED], axes[-NESTED:]
    if not all(isinstance(size, Const) for size, _ in far):
        raise Unsupported("a product of matrices whose batch has several axes of sizes known only when it runs", "fix the shape")
    for index in every(*(range(fixed(size)) for size, _ in far)):
        offsets = [sum((steps[t] * i for i, (_, steps) in zip(index, far, strict=True)), const(0)) for t in range(len(strides))]
        (outer, far_steps), (inner, near_steps) = near
        yield Batch((outer, inner), tuple(zip(far_steps, near_steps, strict=True)), tuple(offsets))
