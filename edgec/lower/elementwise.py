"""Elementwise operators: the registry's scalar rules, composed over deferred values with broadcasting."""

from __future__ import annotations

from collections.abc import Callable

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.lower.builder import Lowering, Unsupported
from edgec.lower.coding import cast_to_code
from edgec.lower.movement import broadcast_index
from edgec.lower.values import Extents, Index, Order, Value, elements
from edgec.ops.registry import OPERATORS
from edgec.program.expr import Expr

_FREE = frozenset({"Cast", "Identity"})


def elementwise(lowering: Lowering, node: Node, rule: Callable[..., Expr] | None = None) -> None:
    """The node's scalar rule, or `rule`, over its operands."""
    rule = rule or OPERATORS[node.op].scalar
    if rule is None:
        raise Unsupported(f"{node.op} has no scalar rule")
    shape = lowering.shape(node.outputs[0])
    operands = {name: once(lowering, lowering.value(name), shape, name) for name in dict.fromkeys(node.inputs) if name}
    known = [operands[name] for name in node.inputs if name]

    def at(index: Index) -> Expr:
        found = {name: operand.at(broadcast_index(index, operand.shape)) for name, operand in operands.items()}
        return rule(*(found.get(name) for name in node.inputs), **node.attributes)

    dtype = lowering.graph.dtype(node.outputs[0])
    order, splits = layout_of(known, shape)
    result = Value(dtype, shape, at, free=node.op in _FREE and all(operand.free for operand in known), order=order, splits=splits)
    lowering.define(node.outputs[0], result.by(*known, node=node.name, op=node.op))


def cast_node(lowering: Lowering, node: Node) -> None:
    """A Cast, which may end a quantization by computed parameters."""
    plain = OPERATORS["Cast"].scalar
    assert plain is not None
    elementwise(lowering, node, lambda x, to: cast_to_code(x, DType(to)) or plain(x, to=to))


def once(lowering: Lowering, value: Value, shape: Extents, name: str) -> Value:
    """`value`, computed into memory first when broadcasting to `shape` would compute an element again and again."""
    return value if value.free or elements(value.shape) >= elements(shape) else lowering.materialize(value, name)


def layout_of(operands: list[Value], shape: Extents) -> tuple[Order | None, tuple[Extents, ...] | None]:
    """Memory order and splits of an elementwise result: those of the first operand of full shape that has any."""
    full = [operand for operand in operands if operand.shape == shape and operand.constant is None]
    order = next((operand.order for operand in full if operand.order), None)
    return order, next((operand.splits for operand in full if operand.splits), None)
