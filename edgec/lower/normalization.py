"""Softmax and normalizations as loop nests, in the operation order of docs/int8.md, clause 10."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.lower.builder import Lowering, Unsupported
from edgec.lower.movement import broadcast_index
from edgec.lower.nest import Axis
from edgec.lower.reduction import loop
from edgec.lower.values import Index, Value, fixed, is_one, row_major, store
from edgec.program.expr import FLOAT, Expr, binary, const, maximum, minimum, product, real, unary, var
from edgec.program.expr import cast as convert
from edgec.program.program import Assign, Declare, For, Statement


def _source(lowering: Lowering, node: Node) -> Value:
    """The operand, in memory unless reading it again costs nothing."""
    value = lowering.value(node.inputs[0])
    if value.dtype != DType.FLOAT32:
        raise Unsupported(f"{node.op} of {value.dtype.value}")
    if value.free:
        return value
    stored = lowering.materialize(value, node.inputs[0])
    lowering.keep(node.inputs[0], value, stored)
    return stored


def _in_rows(lowering: Lowering, node: Node, value: Value, axes: Sequence[int]) -> Value:
    """`value` with what is normalized side by side in memory, where channels lay between or axes were joined: it is read three times."""
    inner = [d for d in value.order or row_major(value.rank) if not is_one(value.shape[d])]
    joined = any(len(value.splits[d]) > 1 for d in axes) if value.splits else False
    if not inner or (inner[-1] in axes and not joined):
        return value
    return lowering.materialize(value, f"{node.inputs[0]}_rows", row_major(value.rank))


def _frame(lowering: Lowering, node: Node, value: Value, axes: Sequence[int]) -> tuple[Value, list[Axis], list[Axis], Index]:
    """The result's memory, the loops over the kept axes (memory order) and over `axes` (ascending), and an element's index."""
    order = value.order or row_major(value.rank)
    result = lowering.place(node.outputs[0], DType.FLOAT32, value.shape, order)
    loops = [(var(f"k{d}" if d in axes else f"i{d}"), size) for d, size in enumerate(value.shape)]
    index = tuple(const(0) if is_one(size) else axis for axis, size in loops)
    return result, [loops[d] for d in order if d not in axes], [loops[d] for d in sorted(axes)], index


def _running(name: str, start: float, step: Callable[[Expr], Expr], axes: Sequence[Axis]) -> tuple[Expr, list[Statement]]:
    """A variable that starts at `start` and becomes step(variable) for every position of `axes`, rows of the last one in lanes."""
    total = var(name, FLOAT)
    return total, [Declare(total, real(start), mutable=True), *loop(axes, [Assign(total, step(total))], lanes=True)]


def softmax(lowering: Lowering, node: Node) -> None:
    """m = max(x), e = exp(x - m), s = sum(e): e / s, or for LogSoftmax (x - m) - log(s)."""
    value = _source(lowering, node)
    result, outer, inner, index = _frame(lowering, node, value, [node.attributes["axis"] % value.rank])
    x = value.at(index)
    largest, find = _running("largest", float("-inf"), lambda m: binary("max", m, x), inner)  # a NaN comes through the sum
    total = var("total", FLOAT)
    if node.op == "LogSoftmax":
        _, add = _running("total", 0.0, lambda s: s + unary("exp", x - largest), inner)
        last = [store(result, index, (x - largest) - unary("log", total))]
        body = [*find, *add, *loop(inner, last)]
    else:
        power = var("power", FLOAT)
        step: list[Statement] = [Declare(power, unary("exp", x - largest)), store(result, index, power), Assign(total, total + power)]
        last = [store(result, index, result.at(index) / total)]
        body = [*find, Declare(total, real(0.0), mutable=True), *loop(inner, step, lanes=True), *loop(inner, last)]
    lowering.loops(outer, body, node.outputs[0], result.by(node=node.name, op=node.op))
    lowering.define(node.outputs[0], result)


def layer_normalization(lowering: Lowering, node: Node) -> None:
    """Over all axes from `axis` on; scale and bias broadcast over them."""
    value = _source(lowering, node)
    if len([name for name in node.outputs if name]) > 1:
        raise Unsupported("LayerNormalization with Mean or InvStdDev outputs", "drop them")
    axes = list(range(node.attributes["axis"] % value.rank, value.rank))
    scale = lowering.value(node.inputs[1])
    bias = lowering.value(node.inputs[2]) if node.input(2) else None
    _normalize(lowering, node, value, axes, lambda p, index: p.at(broadcast_index(index, p.shape)), scale, bias)


def root_normalization(lowering: Lowering, node: Node) -> None:
    """Over the last axis: v = sum(x * x) / n, r = 1 / sqrt(v + epsilon): (x * r) * scale."""
    value = _source(lowering, node)
    axes = [value.rank - 1]
    value, scale = _in_rows(lowering, node, value, axes), lowering.value(node.inputs[1])
    result, outer, inner, index = _frame(lowering, node, value, axes)
    x, n, inverse = value.at(index), _elements(value, axes), var("inverse", FLOAT)
    squares, add = _running("squares", 0.0, lambda s: s + x * x, inner)
    last = [store(result, index, (x * inverse) * scale.at(broadcast_index(index, scale.shape)))]
    root = unary("sqrt", squares / n + real(node.attributes["epsilon"]))
    lowering.loops(
        outer, [*add, Declare(inverse, real(1.0) / root), *loop(inner, last)], node.outputs[0], result.by(node=node.name, op=node.op)
    )
    lowering.define(node.outputs[0], result)


def _elements(value: Value, axes: Sequence[int]) -> Expr:
    return convert(product(tuple(value.shape[d] for d in axes)), FLOAT)


def instance_normalization(lowering: Lowering, node: Node) -> None:
    """Over the spatial axes; scale and bias by channel."""
    value = _source(lowering, node)
    scale, bias = lowering.value(node.inputs[1]), lowering.value(node.inputs[2])
    _normalize(lowering, node, value, list(range(2, value.rank)), lambda p, index: p.at((index[1],)), scale, bias)


def _normalize(
    lowering: Lowering, node: Node, value: Value, axes: list[int],
    parameter: Callable[[Value, Index], Expr], scale: Value, bias: Value | None,
) -> None:  # fmt: skip
    """mean = sum(x) / n, d = x - mean, v = sum(d * d) / n, r = 1 / sqrt(v + epsilon): ((d * r) * scale) + bias."""
    value = _in_rows(lowering, node, value, axes)
    result, outer, inner, index = _frame(lowering, node, value, axes)
    x, n = value.at(index), _elements(value, axes)
    total, add = _running("total", 0.0, lambda s: s + x, inner)
    mean, inverse, squares = var("mean", FLOAT), var("inverse", FLOAT), var("squares", FLOAT)
    d, again = var("d", FLOAT), var("d_again", FLOAT)  # one name each: loops of one element vanish, and then share a scope
    square: list[Statement] = [Declare(d, x - mean), Assign(squares, squares + d * d)]
    epsilon = real(node.attributes["epsilon"])
    scaled = (again * inverse) * parameter(scale, index)
    last: list[Statement] = [Declare(again, x - mean), store(result, index, scaled if bias is None else scaled + parameter(bias, index))]
    body = [
        *add, Declare(mean, total / n), Declare(squares, real(0.0), mutable=True), *loop(inner, square, lanes=True),
        Declare(inverse, real(1.0) / unary("sqrt", squares / n + epsilon)), *loop(inner, last),
    ]  # fmt: skip
    lowering.loops(outer, body, node.outputs[0], result.by(node=node.name, op=node.op))
    lowering.define(node.outputs[0], result)


def local_response(lowering: Lowering, node: Node) -> None:
    """LRN: s = sum(x * x) over the channels of the window: x / pow(bias + (alpha / size) * s, beta)."""
    value = _source(lowering, node)
    size, channels = node.attributes["size"], fixed(value.shape[1])
    result, outer, _, index = _frame(lowering, node, value, [])
    first = maximum(index[1] - (size - 1) // 2, 0)
    count = minimum(index[1] + (size - (size - 1) // 2), channels) - first
    k, total = var("k"), var("total", FLOAT)
    near = value.at((index[0], k, *index[2:]))
    share = np.float32(node.attributes["alpha"]) / np.float32(size)
    base = real(node.attributes["bias"]) + real(float(share)) * total
    body: list[Statement] = [
        Declare(total, real(0.0), mutable=True), For(k, count, (Assign(total, total + near * near),), start=first),
        store(result, index, value.at(index) / binary("pow", base, real(node.attributes["beta"]))),
    ]  # fmt: skip
    lowering.loops(outer, body, node.outputs[0], result.by(node=node.name, op=node.op))
    lowering.define(node.outputs[0], result)


def batch_normalization(lowering: Lowering, node: Node) -> None:
    """((x - mean) * (1 / sqrt(var + epsilon)) * scale) + bias, by channel."""
    value = lowering.value(node.inputs[0])
    arrays = [lowering.value(name).constant for name in node.inputs[1:5]]
    known = [array.astype(np.float32) for array in arrays if array is not None]
    if len(known) < 4:
        raise Unsupported("BatchNormalization with computed parameters", "export the model in inference mode")
    scale, bias, mean, variance = known
    inverse = np.float32(1) / np.sqrt(variance + np.float32(node.attributes["epsilon"]))
    by_channel = [lowering.literal(array.astype(np.float32), node.name) for array in (mean, inverse, scale, bias)]

    def at(index: Index) -> Expr:
        m, r, g, b = (parameter.at((index[1],)) for parameter in by_channel)
        return (value.at(index) - m) * r * g + b

    result = Value(DType.FLOAT32, value.shape, at, order=value.order, splits=value.splits)
    lowering.define(node.outputs[0], result.by(value, node=node.name, op=node.op))
