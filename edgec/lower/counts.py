"""How many elements a call finds: extents of what is read after it, and of outputs that are filled up to their largest size."""

from __future__ import annotations

from dataclasses import replace

from edgec.ir.graph import Node
from edgec.ir.types import DType, Symbol
from edgec.lower.builder import Lowering
from edgec.lower.values import Index, Value, chosen, row_major
from edgec.ops.extents import counts
from edgec.program.expr import INT, Expr, Size, binary, cast, const, load, most, product, select, var
from edgec.program.program import Port, Store


def counted(lowering: Lowering, size: Expr) -> str:
    """The buffer into which the call that counts a size writes it."""
    assert isinstance(size, Size) and size.counted
    name = lowering.buffer(f"{size.name}_found", INT, const(1))
    lowering.program.counts[size.name] = name
    return name


def fill_up(lowering: Lowering, port: Port) -> None:
    """Zeros behind the elements of an output that holds fewer than it could: they lie one behind the other, in the order of its axes."""
    whole = product(tuple(most(size) for size in port.shape))
    if not any(isinstance(size, Size) and size.counted for size in port.shape):
        return
    element = var("element")
    kept = load(port.buffer, element, port.dtype)
    value = select(binary("lt", element, product(port.shape)), kept, const(0, port.dtype))
    about = Value(port.dtype, port.shape, lambda index: value, nodes=(port.name,), ops=("Filler",))
    lowering.loops([(element, whole)], [Store(port.buffer, element, value)], f"{port.name}_filler", about)


def shape(lowering: Lowering, node: Node) -> None:
    """Shape, of what is only known when the model runs."""
    extents = lowering.value(node.inputs[0]).shape[node.attributes["start"] : node.attributes.get("end")]

    def at(index: Index) -> Expr:
        return cast(chosen(index[0], extents), DType.INT64)

    result = Value(DType.INT64, (const(len(extents)),), at, free=True, order=row_major(1))
    lowering.define(node.outputs[0], result.by(result, node=node.name, op=node.op))


def told(lowering: Lowering, node: Node) -> bool:
    """Whether the node's result says extents, so that it is these, whatever computes it."""
    found = [counts(lowering.graph, name) if name and len(lowering.graph.shape(name)) < 2 else None for name in node.outputs]
    if len(found) != 1 or found[0] is None or not any(isinstance(dim, Symbol) for dim in found[0]):
        return False
    kind, extents = lowering.graph.types[node.outputs[0]], lowering.extents(found[0])

    def at(index: Index) -> Expr:
        return cast(chosen(index[0], extents) if index else extents[0], kind.dtype)

    result = Value(kind.dtype, lowering.shape(node.outputs[0]), at, free=True, order=row_major(len(kind.shape)))
    lowering.define(node.outputs[0], result.by(result, node=node.name, op=node.op))
    return True


def constant_of_shape(lowering: Lowering, node: Node) -> None:
    single = lowering.literal(node.attributes["value"].reshape(()))
    lowering.define(node.outputs[0], replace(single, shape=lowering.shape(node.outputs[0]), at=lambda index: single.at(()), constant=None))


def range_(lowering: Lowering, node: Node) -> None:
    """Whole numbers from a known one on."""
    dtype = lowering.graph.dtype(node.outputs[0])
    start = cast(lowering.value(node.inputs[0]).at(()), dtype)
    result = Value(dtype, lowering.shape(node.outputs[0]), lambda index: start + cast(index[0], dtype), free=True, order=(0,))
    lowering.define(node.outputs[0], result.by(result, node=node.name, op=node.op))
