"""Reductions over axes as loop nests: sums from +0 and extremes from infinity, in the orders of docs/int8.md, clause 10."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from edgec.base.errors import CUT
from edgec.integer.operators import Mean
from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.lower import movement
from edgec.lower.builder import Lowering, Unsupported
from edgec.lower.coding import difference, settle
from edgec.lower.moves import integers
from edgec.lower.nest import Axis
from edgec.lower.quantized import codes_of, ending, finish, params_of
from edgec.lower.values import Index, Value, is_one, row_major
from edgec.program.expr import FLOAT, INT, Expr, binary, cast, const, load, maximum, minimum, most, product, real, select, unary, var
from edgec.program.program import Assign, Declare, For, Statement, Store

Combine = Callable[[Expr, Expr], Expr]


@dataclass(frozen=True)
class Reduction:
    """start, then accumulated = combine(accumulated, element) for each element, then finish(accumulated).

    lanes: rows of the last axis are summed in lanes; else all goes by ascending index.
    """

    start: Expr
    combine: Combine
    finish: Callable[[Expr], Expr] = lambda total: total
    lanes: bool = False


def reduce_to(
    lowering: Lowering, source: Value, axes: Sequence[int], rule: Reduction, dtype: DType, name: str, about: Value, macs: int = 0
) -> Value:
    """`source` reduced over `axes`, which stay as extents of 1, in a new buffer.

    With reduced axes outside of kept ones in memory, running totals without lanes stay in memory, so that inner loops are contiguous.
    """
    order = source.order or row_major(source.rank)
    shape = tuple(const(1) if d in axes else size for d, size in enumerate(source.shape))
    result = lowering.place(name, dtype, shape, order)
    assert result.view is not None
    loops = {d: (var(f"i{d}" if d not in axes else f"k{d}"), size) for d, size in enumerate(source.shape)}
    index = tuple(const(0) if is_one(size) else loops[d][0] for d, size in enumerate(source.shape))
    target = tuple(const(0) if d in axes else i for d, i in enumerate(index))
    kept = [d for d in order if d not in axes and not is_one(source.shape[d])]
    first = min((order.index(d) for d in axes if not is_one(source.shape[d])), default=len(order))
    inner = [d for d in kept if order.index(d) > first]
    outer = [loops[d] for d in kept if d not in inner]
    reduced = [loops[d] for d in sorted(axes) if not is_one(source.shape[d])]
    position = result.view.position(target)
    if inner and rule.start.dtype == dtype and not rule.lanes:
        body = _in_memory(result.view.buffer, position, [loops[d] for d in inner], reduced, rule, source.at(index), dtype)
    else:
        outer += [loops[d] for d in inner]
        body = _in_register(result.view.buffer, position, reduced, rule, source.at(index))
    lowering.loops(outer, body, name, replace(about, shape=shape, dtype=dtype), macs)
    return result


def _in_register(buffer: str, position: Expr, reduced: Sequence[Axis], rule: Reduction, element: Expr) -> list[Statement]:
    total = var("total", rule.start.dtype)
    combined = rule.combine(total, element)
    steps = [] if combined is total else loop(reduced, [Assign(total, combined)], lanes=rule.lanes)  # known zeros add nothing
    return [Declare(total, rule.start, mutable=bool(steps)), *steps, Store(buffer, position, rule.finish(total))]


def _in_memory(
    buffer: str, position: Expr, inner: Sequence[Axis], reduced: Sequence[Axis], rule: Reduction, element: Expr, dtype: DType
) -> list[Statement]:
    total = load(buffer, position, dtype)
    begin = Store(buffer, position, rule.start)
    step = Store(buffer, position, rule.combine(total, element))
    last = rule.finish(total)
    end = [] if last is total else loop(inner, [Store(buffer, position, last)])
    return [*loop(inner, [begin]), *loop([*reduced, *inner], [step]), *end]


def loop(axes: Sequence[Axis], body: Sequence[Statement], lanes: bool = False) -> list[Statement]:
    """`body` inside loops, outermost first, the last one in lanes if asked to; no loop for an extent of 1."""
    statements = list(body)
    for axis, size in reversed(axes):
        if not is_one(size):
            statements = [For(axis, size, tuple(statements), lanes=lanes)]
        lanes = False
    return statements


# Nodes


def _sum(dtype: DType) -> Reduction:
    return Reduction(const(0, dtype), lambda total, x: total + x)


def _rules(dtype: DType) -> dict[str, Reduction]:
    lowest, highest = (float("-inf"), float("inf")) if dtype.is_float else (np.iinfo(dtype.value).min, np.iinfo(dtype.value).max)
    return {
        "ReduceSum": _sum(dtype),
        "ReduceProd": Reduction(const(1, dtype), lambda total, x: total * x),
        "ReduceMax": Reduction(const(lowest, dtype), maximum),
        "ReduceMin": Reduction(const(highest, dtype), minimum),
        "ReduceL1": Reduction(const(0, dtype), lambda total, x: total + unary("abs", x)),
        "ReduceL2": Reduction(const(0, dtype), lambda total, x: total + x * x, lambda total: unary("sqrt", total)),
        "ReduceSumSquare": Reduction(const(0, dtype), lambda total, x: total + x * x),
        "ReduceLogSum": Reduction(const(0, dtype), lambda total, x: total + x, lambda total: unary("log", total)),
    }


def reduce_(lowering: Lowering, node: Node) -> None:
    """Reduce*: the axes are a constant operand. Floats go in lanes where the last axis alone is reduced."""
    axes = tuple(integers(lowering, node, 1))
    value = lowering.value(node.inputs[0])
    lanes = value.dtype is DType.FLOAT32 and axes == (value.rank - 1,)
    if node.op == "ReduceMean":
        mean(lowering, node, axes, lanes)
    else:
        reduce_node(lowering, node, node.op, axes, lanes)


def reduce_node(lowering: Lowering, node: Node, op: str, axes: Sequence[int], lanes: bool = False) -> None:
    value = lowering.value(node.inputs[0])
    if value.dtype == DType.BOOL:
        raise Unsupported(f"{node.op} of bool", "cast to int32 before it")
    _finish_reduction(lowering, node, value, axes, replace(_rules(value.dtype)[op], lanes=lanes))


def mean(lowering: Lowering, node: Node, axes: Sequence[int], lanes: bool = False) -> None:
    """s = sum(x), then s / n."""
    value = lowering.value(node.inputs[0])
    n = product(tuple(value.shape[d] for d in axes))
    divisor = cast(n, value.dtype)
    rule = replace(_sum(value.dtype), finish=lambda total: total / divisor, lanes=lanes)
    _finish_reduction(lowering, node, value, axes, rule)


def _finish_reduction(lowering: Lowering, node: Node, value: Value, axes: Sequence[int], rule: Reduction) -> None:
    about = value.by(value, node=node.name, op=node.op)
    shape = lowering.shape(node.outputs[0])
    name = node.outputs[0] if len(shape) == value.rank else f"{node.outputs[0]}_kept"
    result = reduce_to(lowering, value, axes, rule, value.dtype, name, about)
    lowering.define(node.outputs[0], movement.reshape(result, shape))


def average_whole(lowering: Lowering, operator: Mean) -> None:
    """Clause 8 over whole images: exact sums in int32, then one multiplication."""
    node, (operand,), tail = operator.node, operator.operands, operator.end
    codes, zero, end = codes_of(lowering, operand), params_of(lowering, operand.grid).zero, ending(lowering, tail)
    m = np.float32(operator.factor) / np.float32(operator.count)
    terms = replace(codes, dtype=INT, at=lambda index: difference(codes.at(index), zero), view=None)
    rule, axes = Reduction(const(0), lambda total, x: total + x), range(2, codes.rank)
    sums = reduce_to(lowering, terms, axes, rule, INT, f"{tail.name}_sums", codes.by(codes, node=node.name, op=node.op))

    def at(index: Index) -> Expr:
        return settle(cast(sums.at(index), FLOAT) * real(float(m)), end.low, end.high, end.params.zero, lowering.activation)

    result = Value(lowering.activation, sums.shape, at, order=sums.order).by(node=node.name, op="Requantize")
    finish(lowering, tail, movement.reshape(result, lowering.shape(node.outputs[0])))


def arg_extreme(lowering: Lowering, node: Node) -> None:
    """ArgMax and ArgMin: the position of the first (or last) extreme along one axis."""
    value, axis = lowering.value(node.inputs[0]), node.attributes["axis"]
    axis %= value.rank
    if most(value.shape[axis]) != value.shape[axis]:
        raise Unsupported(f"{node.op} over elements that a run counts: there may be none", CUT)
    shape = tuple(const(1) if d == axis else size for d, size in enumerate(value.shape))
    order = value.order or row_major(value.rank)
    result = lowering.dense(node.outputs[0], DType.INT64, shape, order)
    view = result.view
    assert view is not None
    best, place, k, seen = var("best", value.dtype), var("place"), var("k"), var("seen", value.dtype)
    loops = {d: (var(f"i{d}"), size) for d, size in enumerate(shape)}
    index = tuple(loops[d][0] for d in range(value.rank))
    better = _better(node, seen, best)
    start = value.at(_at(index, axis, const(0)))
    body: list[Statement] = [
        Declare(best, start, mutable=True), Declare(place, const(0), mutable=True),
        For(k, value.shape[axis], (
            Declare(seen, value.at(_at(index, axis, k))),
            Assign(place, select(better, k, place)), Assign(best, select(better, seen, best)),
        )),
        Store(view.buffer, view.position(_at(index, axis, const(0))), cast(place, DType.INT64)),
    ]  # fmt: skip
    lowering.loops([loops[d] for d in order if d != axis], body, node.outputs[0], result.by(value, node=node.name, op=node.op))
    lowering.define(node.outputs[0], movement.reshape(result, lowering.shape(node.outputs[0])))


def _better(node: Node, seen: Expr, best: Expr) -> Expr:
    last = bool(node.attributes.get("select_last_index", 0))
    if node.op == "ArgMax":
        return binary("le", best, seen) if last else binary("lt", best, seen)
    return binary("le", seen, best) if last else binary("lt", seen, best)


def _at(index: Index, axis: int, position: Expr) -> Index:
    return (*index[:axis], position, *index[axis + 1 :])
