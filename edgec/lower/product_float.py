"""Products of two computed matrices of floats. The second one is packed into panels while running."""

from __future__ import annotations

from dataclasses import dataclass, replace

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.kernels import PackFloat, ProductFloat
from edgec.kernels.product_float import packed_size
from edgec.lower import movement
from edgec.lower.batches import (
    NESTED,
    broadcast,
    in_memory,
    is_forward,
    matrices_in_memory,
    panel_strides,
    result_in_memory,
    view_of,
    walks,
)
from edgec.lower.builder import Lowering
from edgec.lower.comment import tensor
from edgec.lower.convolution import labelled
from edgec.lower.values import Extents, Value, View, elements, is_one, packed_strides, row_major, viewed
from edgec.program.expr import Const, Expr, bound, const, product
from edgec.program.program import Pointer


def has_kernel(lowering: Lowering, *leads: Extents) -> bool:
    """Whether kernels can walk these batch axes together. GPUs have shaders for the loops of a product, and none for its kernel."""
    lead: Extents = ()
    for own in leads:
        lead = broadcast(lead, own)
    several = sum(not is_one(size) for size in lead) > NESTED
    return not lowering.target.gpu and not (several and any(not isinstance(size, Const) for size in lead))


def pair_of_floats(lowering: Lowering, node: Node, left: Value, right: Value) -> Value:
    """left [..., m, k] * right [..., k, n]; the result has memory of its own."""
    a, panels = rows_in_memory(lowering, node.inputs[0], left), packed(lowering, node, node.inputs[1], right)
    lead = broadcast(a.shape[:-2], panels.lead)
    shape = (*lead, a.shape[-2], panels.columns)
    name = node.outputs[0] if len(shape) == len(lowering.shape(node.outputs[0])) else f"{node.outputs[0]}_matrix"
    y = result_in_memory(lowering, name, DType.FLOAT32, shape)
    x, result = view_of(movement.expand(a, (*lead, *a.shape[-2:]))), view_of(y)
    batches = list(walks(lead, (x.strides[:-2], panels.strides(lead), result.strides[:-2])))
    macs = elements(y.shape) * bound(panels.inner) // len(batches)
    for batch in batches:
        x_strides, w_strides, y_strides = batch.strides
        arguments = ProductFloat(
            Pointer(x.buffer, x.offset + batch.offsets[0]), Pointer(panels.buffer, batch.offsets[1]),
            Pointer(result.buffer, result.offset + batch.offsets[2]), *batch.sizes, a.shape[-2],
            *x_strides, x.strides[-2], *w_strides, *y_strides, result.strides[-2], panels.inner, panels.columns,
        )  # fmt: skip
        operands = f"{tensor(a.dtype, a.shape)} * {tensor(DType.FLOAT32, (*panels.lead, panels.inner, panels.columns))}"
        lowering.template(arguments, name, labelled(y, [node]), macs, operands)
    return y


@dataclass(frozen=True)
class Panels:
    """Matrices [*lead, inner, columns], packed into one buffer."""

    buffer: str
    lead: Extents
    inner: Expr
    columns: Expr

    def strides(self, lead: Extents) -> Extents:
        """Of the batch axes `lead`, which the packed matrices broadcast to."""
        return panel_strides(self.lead, packed_size(self.inner, self.columns), lead)


def packed(lowering: Lowering, node: Node, name: str, value: Value) -> Panels:
    """The matrices `value`, which are called `name`, as an operand of `node`."""
    b = matrices_in_memory(lowering, name, value)
    lead, inner, columns = b.shape[:-2], b.shape[-2], b.shape[-1]
    buffer = lowering.buffer(f"{name}_panels", DType.FLOAT32, product(lead) * packed_size(inner, columns))
    panels, view = Panels(buffer, lead, inner, columns), view_of(b)
    about = replace(b, nodes=(), ops=()).by(node=node.name, op="Pack")
    for batch in walks(lead, (view.strides[:-2], panels.strides(lead))):
        arguments = PackFloat(
            Pointer(view.buffer, view.offset + batch.offsets[0]), Pointer(buffer, batch.offsets[1]), *batch.sizes, *batch.strides[0],
            view.strides[-2], view.strides[-1], inner, columns,
        )  # fmt: skip
        lowering.template(arguments, f"{name}_panels", about, 0, tensor(b.dtype, b.shape))
    return panels


def rows_in_memory(lowering: Lowering, name: str, value: Value) -> Value:
    """`value` in memory, its last axis contiguous."""
    view = value.view
    if view is not None and (is_one(value.shape[-1]) or view.strides[-1] == const(1)) and is_forward(view):
        return value
    if value.constant is not None:
        return viewed(
            View(lowering.constant(name, value.constant), value.dtype, const(0), packed_strides(value.shape, row_major(value.rank))),
            value.shape,
        )
    return in_memory(lowering, name, value)
