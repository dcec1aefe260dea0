"""What follows a node and can be computed by its kernel: one activation, one residual addition."""

from __future__ import annotations

from dataclasses import dataclass, field

from edgec.integer.tails import activation_bounds, sole_reader
from edgec.ir.graph import Node
from edgec.lower.builder import Lowering
from edgec.lower.product import Product
from edgec.lower.values import Value


@dataclass
class Tail:
    """The nodes behind a kernel that it absorbs: `name` is the value it now computes."""

    name: str
    low: float = float("-inf")
    high: float = float("inf")
    residual: Value | None = None
    nodes: list[Node] = field(default_factory=list)


def float_tail(lowering: Lowering, node: Node, product: Product) -> Tail:
    """The residual Add and the activation behind a float product, absorbed. Depthwise kernels add nothing."""
    graph, tail = lowering.graph, Tail(node.outputs[0])
    reader = sole_reader(graph, tail.name)
    if reader is not None and reader.op == "Add" and product.finish is None and not product.depthwise:
        tail.residual = _residual(lowering, reader, tail.name, product)
        if tail.residual is not None:
            _extend(lowering, tail, reader)
            reader = sole_reader(graph, tail.name)
    bounds = activation_bounds(graph, reader) if reader is not None and reader.inputs[0] == tail.name else None
    if reader is not None and bounds is not None:
        tail.low, tail.high = bounds
        _extend(lowering, tail, reader)
    return tail


def _extend(lowering: Lowering, tail: Tail, node: Node) -> None:
    lowering.absorb(node)
    tail.nodes.append(node)
    tail.name = node.outputs[0]


def _residual(lowering: Lowering, add: Node, name: str, product: Product) -> Value | None:
    """The other operand of `add`, when it is in memory, of the same shape and the same pixel order."""
    other = add.inputs[1] if add.inputs[0] == name else add.inputs[0]
    value = lowering.values.get(other)
    if other == name or value is None or value.shape != product.shape or product.pixels(value, product.shape) is None:
        return None
    return value
