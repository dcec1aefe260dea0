"""The least and the largest of all numbers, as DynamicQuantizeLinear asks for both: in one pass, in the order of memory."""

from __future__ import annotations

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType
from edgec.lower import movement
from edgec.lower.builder import Lowering
from edgec.lower.reduction import loop, reduce_
from edgec.lower.values import Value, View, is_one, order_of, packed_strides, row_major, same_strides, view_of, viewed
from edgec.program.expr import Expr, const, maximum, minimum, product, real, var
from edgec.program.program import Assign, Declare, Store

OTHER = {"ReduceMin": "ReduceMax", "ReduceMax": "ReduceMin"}
RULES = {"ReduceMin": (minimum, float("inf")), "ReduceMax": (maximum, float("-inf"))}


def extreme_node(lowering: Lowering, node: Node) -> None:
    """ReduceMin and ReduceMax, the one with the other where they are a pair."""
    other = _other(lowering, node)
    if other is None:
        reduce_(lowering, node)
        return
    value = _in_order_of_memory(lowering, node.inputs[0])
    axis, found, steps, stores = (var("k0"), value.shape[0]), list[Declare](), list[Assign](), list[Store]()
    about, place = value, const(0) if is_one(axis[1]) else axis[0]
    for one in (node, other):
        combine, start = RULES[one.op]
        total = var("least" if one.op == "ReduceMin" else "most", value.dtype)
        result = lowering.dense(f"{one.outputs[0]}_kept", value.dtype, (const(1),), row_major(1))
        found.append(Declare(total, real(start), mutable=True))
        steps.append(Assign(total, combine(total, value.at((place,)))))
        stores.append(Store(view_of(result).buffer, const(0), total))
        about = about.by(about, node=one.name, op=one.op)
        lowering.define(one.outputs[0], movement.reshape(result, lowering.shape(one.outputs[0])))
    about = Value(value.dtype, (const(1),), value.at, nodes=about.nodes, ops=about.ops)
    lowering.loops([], [*found, *loop([axis], steps, lanes=True), *stores], f"{node.outputs[0]}_ends", about)
    lowering.absorb(other)


def _other(lowering: Lowering, node: Node) -> Node | None:
    """What finds the other end of the same numbers; None where shaders, which have one result, or somebody who looks at the sign of a 0,
    which depends on the order, may read it."""
    graph, flat = lowering.graph, node.inputs[0]
    if lowering.target.gpu or graph.dtype(flat) is not DType.FLOAT32 or len(graph.shape(flat)) != 1 or graph.types[flat].is_counted:
        return None
    axes = graph.constant(node.input(1))
    pairs = [one for one in graph.readers(flat) if one.op == OTHER[node.op]]
    if axes is None or axes.size != 1 or len(pairs) != 1 or id(pairs[0]) in lowering.done:
        return None
    theirs = graph.constant(pairs[0].input(1))
    alike = theirs is not None and np.array_equal(axes, theirs) and not any(one.outputs[0] in graph.outputs for one in (node, *pairs))
    return pairs[0] if alike and all(_is_end(graph, one) for one in (node, pairs[0])) else None


def _is_end(graph: Graph, node: Node) -> bool:
    """Whether its result, bounded by 0, is only subtracted or negated."""
    readers = graph.readers(node.outputs[0])
    behind = [one for reader in readers for one in graph.readers(reader.outputs[0])]
    return all(one.op in ("Clip", "Relu", "Min", "Max") for one in readers) and all(one.op in ("Sub", "Neg") for one in behind)


def _in_order_of_memory(lowering: Lowering, name: str) -> Value:
    """The numbers behind a Reshape to one axis as they lie, or `name` itself."""
    node, flat = lowering.graph.producer(name, "Reshape"), lowering.value(name)
    source = lowering.values.get(node.inputs[0]) if node is not None else None
    view = source.view if source is not None else None
    if source is None or view is None or view.dtype is not DType.FLOAT32:
        return flat if flat.free else lowering.materialize(flat, name)
    dense = packed_strides(source.shape, order_of(view, source.shape))
    if not same_strides(view.strides, dense, source.shape):
        return flat
    one: Expr = const(1)
    return viewed(View(view.buffer, view.dtype, view.offset, (one,)), (product(source.shape),)).by(source)
