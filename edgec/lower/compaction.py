"""NonZero and Compress: a call writes the places of what is selected one behind the other, and how many they are."""

from __future__ import annotations

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.lower import movement
from edgec.lower.builder import Lowering
from edgec.lower.counts import counted
from edgec.lower.values import Extents, Index, Value, View, chosen, digits, row_major, view_of
from edgec.program.expr import INT, Expr, binary, bound, cast, clamp, const, product, select, var
from edgec.program.program import Assign, Declare, For, Statement, Store


def non_zero(lowering: Lowering, node: Node) -> None:
    """Places on every axis, in the order of the elements."""
    source, shape = lowering.value(node.inputs[0]), lowering.shape(node.outputs[0])
    i, sizes = var("i"), source.shape
    wanted = cast(source.at(digits(i, sizes)), DType.BOOL)
    places = compacted(lowering, node, i, product(sizes), wanted, shape[1], source)

    def at(index: Index) -> Expr:
        return cast(chosen(index[0], digits(places.at((index[1],)), sizes) or (const(0),)), DType.INT64)

    lowering.define(node.outputs[0], Value(DType.INT64, shape, at, free=True, order=row_major(2)))


def compress(lowering: Lowering, node: Node) -> None:
    source, condition = lowering.value(node.inputs[0]), lowering.value(node.inputs[1])
    source, shape, axis = lowering.shared(source, node.inputs[0]), lowering.shape(node.outputs[0]), node.attributes["axis"]
    i = var("i")
    looked = binary("min", condition.shape[0], source.shape[axis])
    places = compacted(lowering, node, i, looked, condition.at((i,)), shape[axis], condition)
    lowering.define(node.outputs[0], movement.lift(source, lambda value: movement.take(value, axis, places, shape)))


def compacted(lowering: Lowering, node: Node, i: Expr, extent: Expr, wanted: Expr, size: Expr, about: Value) -> Value:
    """Those of `extent` places `i` that are wanted. What is behind them is 0."""
    name, most = f"{node.outputs[0]}_places", bound(extent)
    found, n = placed(lowering, name, most, most), var("n")
    body: tuple[Statement, ...] = (
        Store(found.buffer, clamp(n, 0, most - 1), i), Assign(n, n + select(wanted, const(1), const(0))),
    )  # fmt: skip
    statements = (
        zeros(found, most), Declare(n, const(0), mutable=True), For(i, extent, body),  # type: ignore[arg-type]
        Store(counted(lowering, size), const(0), n),
    )  # fmt: skip
    shape: Extents = (size,)
    result = Value(INT, shape, lambda index: found.at(index), free=True, order=(0,))
    lowering.loops([], statements, name, result.by(about, node=node.name, op=node.op))
    return result


def placed(lowering: Lowering, name: str, count: int, below: int) -> View:
    """A buffer of `count` places on an axis of so many elements."""
    return view_of(lowering.places(name, (const(count),), const(below)))


def zeros(places: View, count: int) -> Statement:
    """No place is left as it was in memory."""
    at = var("at")
    return For(at, const(count), (Store(places.buffer, places.position((at,)), const(0)),))
