"""Clause 16: products of two computed matrices of codes. The second one is packed into panels as it is while running."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product as every
from typing import Any

from edgec.integer.operators import PairProduct
from edgec.integer.tails import sole_reader
from edgec.ir.types import DType
from edgec.kernels import PackInt8, ProductInt8, ProductInt8Float
from edgec.kernels.matrix_int8 import input_multiple
from edgec.kernels.windows import ceil_div
from edgec.lower import movement
from edgec.lower.builder import Lowering, Unsupported
from edgec.lower.coding import shift_to
from edgec.lower.comment import quantization, tensor
from edgec.lower.convolution import labelled
from edgec.lower.matmul import broadcast
from edgec.lower.quantized import Ending, codes_of, ending, finish, params_of
from edgec.lower.values import Extents, Order, Value, View, fixed, is_one, packed_strides, row_major
from edgec.program.arguments import LANES
from edgec.program.expr import Const, Expr, bound, const, product
from edgec.program.program import Kind, Pointer

NESTED = 2  # batch axes that a kernel walks itself


@dataclass(frozen=True)
class Batch:
    """Batch axes as kernels walk them: `sizes` of the outer and the inner one, their strides in each tensor, and where these begin."""

    sizes: tuple[Expr, Expr]
    strides: tuple[tuple[Expr, Expr], ...]
    offsets: tuple[Expr, ...]


def pair_product(lowering: Lowering, operator: PairProduct) -> None:
    """Clause 16."""
    node, (first, second), tail = operator.node, operator.operands, operator.tail
    a = _rows(lowering, first.name, codes_of(lowering, first))
    panels = _Panels(lowering, operator, _matrices(lowering, second.name, codes_of(lowering, second)))
    lead = broadcast(a.shape[:-2], panels.lead)
    shape, name = (*lead, a.shape[-2], panels.columns), tail.name if tail else node.outputs[0]
    y = _result(lowering, name, lowering.activation if tail else DType.FLOAT32, shape)
    x, result = _view(movement.expand(a, (*lead, *a.shape[-2:]))), _view(y)
    p, q = (params_of(lowering, operand.grid) for operand in operator.operands)
    lines = [f"{quantization('a', float(p.scale), p.zero)}   {quantization('b', float(q.scale), q.zero)}"]
    operands = f"{tensor(a.dtype, a.shape)} * {tensor(panels.dtype, panels.shape)}"
    batches = list(_batches(lead, (x.strides[:-2], panels.strides(lead), result.strides[:-2])))
    macs = bound(product(shape)) * bound(panels.inner) // len(batches)
    for batch in batches:
        (x_outer, x_inner), (w_outer, w_inner), (y_outer, y_inner) = batch.strides
        floats = ProductInt8Float(
            Pointer(x.buffer, x.offset + batch.offsets[0]), Pointer(panels.buffer, batch.offsets[1]),
            Pointer(result.buffer, result.offset + batch.offsets[2]), *batch.sizes, a.shape[-2], x_outer, x_inner, x.strides[-2],
            w_outer, w_inner, y_outer, y_inner, result.strides[-2], panels.inner, panels.columns, panels.count, panels.bytes, panels.zero,
            float(operator.multiplier),
        )  # fmt: skip
        arguments = floats if tail is None else _to_codes(floats, ending(lowering, tail))
        lowering.template(arguments, name, labelled(y, operator.nodes), macs, operands, lines)
    if tail is None:
        lowering.define(name, y)
    else:
        finish(lowering, tail, y)


def _to_codes(floats: ProductInt8Float, end: Ending) -> ProductInt8:
    shared: dict[str, Any] = vars(floats)
    return ProductInt8(**shared, zero_y=end.params.zero, low=end.low, high=end.high)


class _Panels:
    """The second operand, packed: one buffer for all of its matrices."""

    def __init__(self, lowering: Lowering, operator: PairProduct, b: Value) -> None:
        node, (p, q) = operator.node, (params_of(lowering, operand.grid) for operand in operator.operands)
        self.shape, self.dtype = b.shape, b.dtype
        self.lead, self.inner, self.columns = b.shape[:-2], b.shape[-2], b.shape[-1]
        multiple = input_multiple(lowering.target.vocabularies)
        self.count = ceil_div(self.columns, LANES)
        self.bytes = ceil_div(self.inner, multiple) * (multiple * LANES) + 4 * LANES
        self.zero = q.zero + shift_to(DType.INT8, lowering.activation)  # panels hold signed codes
        self._step = self.count * self.bytes
        self.buffer = lowering.buffer(f"{node.inputs[1]}_panels", DType.INT8, product(self.lead) * self._step)
        view, strides = _view(b), tuple(stride * self._step for stride in packed_strides(self.lead, row_major(len(self.lead))))
        about = replace(b, nodes=(), ops=()).by(node=node.name, op="Pack")
        for batch in _batches(self.lead, (view.strides[:-2], strides)):
            outer, inner = batch.strides[0]
            arguments = PackInt8(
                Pointer(view.buffer, view.offset + batch.offsets[0]), Pointer(self.buffer, batch.offsets[1]), *batch.sizes, outer, inner,
                view.strides[-2], view.strides[-1], self.inner, self.columns, self.count, self.bytes,
                self.inner * (p.zero * self.zero), -p.zero,
            )  # fmt: skip
            lowering.template(arguments, f"{node.inputs[1]}_panels", about, 0, tensor(b.dtype, b.shape))

    def strides(self, lead: Extents) -> Extents:
        """Of the batch axes `lead`, which the packed matrices broadcast to."""
        own = packed_strides(self.lead, row_major(len(self.lead)))
        found = [const(0) if is_one(size) else stride * self._step for size, stride in zip(self.lead, own, strict=True)]
        return (*(const(0),) * (len(lead) - len(found)), *found)


def _view(value: Value) -> View:
    assert value.view is not None
    return value.view


def _rows(lowering: Lowering, name: str, value: Value) -> Value:
    """`value` in memory, its last axis contiguous; kernels read past a row, which only the arena tolerates."""
    inner, view = value.shape[-1], value.view
    near = view is not None and (is_one(inner) or view.strides[-1] == const(1)) and _forward(view)
    whole = isinstance(inner, Const) and inner.value % input_multiple(lowering.target.vocabularies) == 0
    if near and view is not None and (whole or lowering.program.buffers[view.buffer].kind is Kind.ARENA):
        return value
    return _stored(lowering, name, value)


def _matrices(lowering: Lowering, name: str, value: Value) -> Value:
    """`value` in memory, however it lies there."""
    return value if value.view is not None and _forward(value.view) else _stored(lowering, name, value)


def _forward(view: View) -> bool:
    return not any(isinstance(stride, Const) and stride.value < 0 for stride in view.strides)


def _stored(lowering: Lowering, name: str, value: Value) -> Value:
    stored = lowering.materialize(value, name, row_major(value.rank))
    lowering.keep(name, value, stored)
    return stored


def _result(lowering: Lowering, name: str, dtype: DType, shape: Extents) -> Value:
    """Memory for the result, in the order that a Transpose behind it wants."""
    order = _wanted(lowering, name, len(shape))
    y = lowering.place(name, dtype, shape, order)
    return y if is_one(shape[-1]) or _view(y).strides[-1] == const(1) else lowering.dense(name, dtype, shape, row_major(len(shape)))


def _wanted(lowering: Lowering, name: str, rank: int) -> Order:
    reader = sole_reader(lowering.graph, name)
    if reader is not None and reader.op == "DequantizeLinear":
        reader = sole_reader(lowering.graph, reader.outputs[0])
    if reader is not None and reader.op == "Transpose" and reader.attributes["perm"][-1] == rank - 1:
        return tuple(int(axis) for axis in reader.attributes["perm"])
    return row_major(rank)


def _batches(lead: Extents, strides: Sequence[Extents]) -> Iterator[Batch]:
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
