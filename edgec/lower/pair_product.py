"""Clause 16: products of two computed matrices of codes. The second one is packed into panels as it is while running."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from edgec.integer.operators import PairProduct
from edgec.ir.types import DType
from edgec.kernels import PackInt8, ProductInt8, ProductInt8Float
from edgec.kernels.matrix_int8 import input_multiple
from edgec.kernels.windows import ceil_div
from edgec.lower import movement
from edgec.lower.batches import broadcast, in_memory, is_forward, matrices_in_memory, panel_strides, result_in_memory, view_of, walks
from edgec.lower.builder import Lowering
from edgec.lower.coding import shift_to
from edgec.lower.comment import quantization, tensor
from edgec.lower.convolution import labelled
from edgec.lower.quantized import Ending, codes_of, ending, finish, params_of
from edgec.lower.values import Extents, Value, is_one
from edgec.program.arguments import LANES
from edgec.program.expr import Const, bound, const, product
from edgec.program.program import Kind, Pointer


def pair_product(lowering: Lowering, operator: PairProduct) -> None:
    """Clause 16."""
    node, (first, second), tail = operator.node, operator.operands, operator.tail
    a = _rows(lowering, first.name, codes_of(lowering, first))
    panels = _Panels(lowering, operator, matrices_in_memory(lowering, second.name, codes_of(lowering, second)))
    lead = broadcast(a.shape[:-2], panels.lead)
    shape, name = (*lead, a.shape[-2], panels.columns), tail.name if tail else node.outputs[0]
    y = result_in_memory(lowering, name, lowering.activation if tail else DType.FLOAT32, shape)
    x, result = view_of(movement.expand(a, (*lead, *a.shape[-2:]))), view_of(y)
    p, q = (params_of(lowering, operand.grid) for operand in operator.operands)
    lines = [f"{quantization('a', float(p.scale), p.zero)}   {quantization('b', float(q.scale), q.zero)}"]
    operands = f"{tensor(a.dtype, a.shape)} * {tensor(panels.dtype, panels.shape)}"
    batches = list(walks(lead, (x.strides[:-2], panels.strides(lead), result.strides[:-2])))
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
        view, strides = view_of(b), self.strides(self.lead)
        about = replace(b, nodes=(), ops=()).by(node=node.name, op="Pack")
        for batch in walks(self.lead, (view.strides[:-2], strides)):
            outer, inner = batch.strides[0]
            arguments = PackInt8(
                Pointer(view.buffer, view.offset + batch.offsets[0]), Pointer(self.buffer, batch.offsets[1]), *batch.sizes, outer, inner,
                view.strides[-2], view.strides[-1], self.inner, self.columns, self.count, self.bytes,
                self.inner * (p.zero * self.zero), -p.zero,
            )  # fmt: skip
            lowering.template(arguments, f"{node.inputs[1]}_panels", about, 0, tensor(b.dtype, b.shape))

    def strides(self, lead: Extents) -> Extents:
        """Of the batch axes `lead`, which the packed matrices broadcast to."""
        return panel_strides(self.lead, self._step, lead)


def _rows(lowering: Lowering, name: str, value: Value) -> Value:
    """`value` in memory, its last axis contiguous; kernels read past a row, which only the arena tolerates."""
    inner, view = value.shape[-1], value.view
    near = view is not None and (is_one(inner) or view.strides[-1] == const(1)) and is_forward(view)
    whole = isinstance(inner, Const) and inner.value % input_multiple(lowering.target.vocabularies) == 0
    if near and view is not None and (whole or lowering.program.buffers[view.buffer].kind is Kind.ARENA):
        return value
    return in_memory(lowering, name, value)
