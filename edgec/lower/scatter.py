"""ScatterND of rows: a copy of the data, and then the updates one after the other, the last of those that meet being the one that stays."""

from __future__ import annotations

from collections.abc import Callable

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.lower.builder import Lowering, split_axes
from edgec.lower.indices import places_on
from edgec.lower.values import row_major, store
from edgec.program.expr import INT, Expr, cast, const, logical, maximum, minimum

Combine = Callable[[Expr, Expr], Expr]
NUMBERS: dict[str, Combine] = {
    "none": lambda old, new: new, "add": lambda old, new: old + new, "mul": lambda old, new: old * new, "max": maximum, "min": minimum,
}  # fmt: skip
TRUTHS: dict[str, Combine] = {
    "none": lambda old, new: new, "add": lambda old, new: logical("or", old, new), "mul": lambda old, new: logical("and", old, new),
    "max": lambda old, new: logical("or", old, new), "min": lambda old, new: logical("and", old, new),
}  # fmt: skip


def scatter_nd(lowering: Lowering, node: Node) -> None:
    """Places are checked first: one that lies outside ends the run with BAD_INDEX."""
    data, indices, updates = (lowering.value(name) for name in node.inputs)
    name, shape = node.outputs[0], lowering.shape(node.outputs[0])
    places = places_on(lowering, node, indices, shape[0])
    result = lowering.place(name, data.dtype, shape, row_major(len(shape)))
    about = result.by(data, updates, node=node.name, op=node.op)
    lowering.materialize(data.by(data, node=node.name, op="Copy"), f"{name}_copy", into=result.view)
    axes, index = split_axes(updates, row_major(updates.rank))
    at = (cast(places.at((*index[: indices.rank - 1], const(0))), INT), *index[indices.rank - 1 :])
    combine = (TRUTHS if data.dtype is DType.BOOL else NUMBERS)[node.attributes["reduction"]]
    lowering.loops(axes, [store(result, at, combine(result.at(at), updates.at(index)))], name, about, in_order=True)
    lowering.define(name, result)
