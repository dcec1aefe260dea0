"""QuantizeLinear, DequantizeLinear and the integer operators that are loops over codes: clauses 2, 3, 5, 6, 7 and 9 of docs/int8.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from edgec.integer.grid import BITS, Grid, any_grid_of, stored_type
from edgec.integer.operators import IntegerOperator, Join, Multiplication, Operand, Quantize, Requantize, Sum, Table, Tail
from edgec.ir.graph import Node
from edgec.ir.types import DType, static
from edgec.lower.builder import Lowering, Unsupported
from edgec.lower.coding import (
    Parameters,
    coded_form,
    decoded,
    difference,
    held,
    limits,
    local,
    quantize,
    requantize,
    requantize_table,
    settle,
    shift_to,
)
from edgec.lower.elementwise import layout_of, once
from edgec.lower.movement import broadcast_index
from edgec.lower.moves import concatenated
from edgec.lower.tables import table
from edgec.lower.values import Coded, Index, Value, elements
from edgec.ops.quantize import dequantized, spread
from edgec.program.expr import FLOAT, INT, Expr, cast, load, real

FEW_CODES = 1024  # a tensor of no more is requantized by arithmetic


@dataclass(frozen=True)
class Ending:
    """A tail in the target's signedness."""

    params: Parameters
    low: int
    high: int


def held_type(lowering: Lowering, grid: Grid) -> DType:
    """What the codes of a grid are stored as."""
    return held(lowering.activation, grid.bits)


def params_of(lowering: Lowering, grid: Grid) -> Parameters:
    return local(grid, held_type(lowering, grid))


def ending(lowering: Lowering, tail: Tail) -> Ending:
    least, _ = limits(held_type(lowering, tail.grid))
    return Ending(params_of(lowering, tail.grid), tail.low + least, tail.high + least)


def codes_of(lowering: Lowering, operand: Operand) -> Value:
    """The codes of a value that is known to be some."""
    value = lowering.value(operand.name)
    assert value.coded is not None
    return value.coded.value


def finish(lowering: Lowering, tail: Tail, value: Value) -> None:
    """Define what the operator's QuantizeLinear writes."""
    lowering.define(tail.name, as_onnx(lowering, value, tail.dtype))


def as_onnx(lowering: Lowering, value: Value, dtype: DType) -> Value:
    """Codes of the target as the ONNX tensor of codes that they stand for."""
    return decoded(Coded(value, shift_to(held(lowering.activation, BITS[dtype]), dtype), None), dtype)


def fused_name(operator: IntegerOperator) -> str:
    """The ONNX operators that a kernel computes before it quantizes."""
    return "+".join([operator.node.op, *(node.op for node in operator.end.nodes[:-1])])


# Between numbers and codes


def quantize_numbers(lowering: Lowering, operator: Quantize) -> None:
    """Clause 2."""
    node, params = operator.node, params_of(lowering, operator.end.grid)
    value, dtype = lowering.value(node.inputs[0]), held_type(lowering, operator.end.grid)
    result = Value(dtype, value.shape, lambda index: quantize(value.at(index), params, dtype), order=value.order, splits=value.splits)
    finish(lowering, operator.end, result.by(value, node=node.name, op=node.op))


def requantize_codes(lowering: Lowering, operator: Requantize) -> None:
    """Clause 7."""
    (source,), grid = operator.operands, operator.end.grid
    codes = codes_of(lowering, source)
    moved = codes if source.grid == grid else _requantized(lowering, codes, source.grid, grid)
    finish(lowering, operator.end, moved if moved is codes else moved.by(codes, node=operator.node.name, op="Requantize"))


def unmatched_quantize(lowering: Lowering, node: Node) -> None:
    raise Unsupported(lowering.matched.refused[node], "quantize activations per tensor")


def deferred(lowering: Lowering, like: Value, at: Callable[[Index], Expr]) -> Value:
    """An 8-bit value of the shape and memory order of `like`."""
    return Value(lowering.activation, like.shape, at, order=like.order, splits=like.splits)


def dequantize_node(lowering: Lowering, node: Node) -> None:
    """Constants become known float tensors; per-tensor values of 8 or 16 bits stay codes; the rest is clause 3 as an expression."""
    scale, zero = (lowering.graph.constant(name) if name else None for name in (node.inputs[1], node.input(2)))
    if scale is None or (node.input(2) and zero is None):
        raise Unsupported("scale and zero point must be constants")
    zero = np.zeros_like(scale, np.int32) if zero is None else zero.astype(np.int32)
    array, grid = lowering.graph.constant(node.inputs[0]), any_grid_of(lowering.graph, node)
    if array is not None:
        _dequantize_constant(lowering, node, array, dequantized(array, scale, zero, node.attributes), grid)
        return
    source = lowering.value(node.inputs[0])
    if grid is not None:
        lowering.define(node.outputs[0], as_numbers(coded_form(source, held_type(lowering, grid)), params_of(lowering, grid)))
        return
    shape = static(lowering.graph.shape(node.inputs[0]))
    scales = lowering.literal(spread(scale, shape, node.attributes), node.inputs[1])
    zeros = lowering.literal(spread(zero, shape, node.attributes))

    def at(index: Index) -> Expr:
        code = cast(source.at(index), INT) - zeros.at(broadcast_index(index, zeros.shape))
        return cast(code, FLOAT) * scales.at(broadcast_index(index, scales.shape))

    result = Value(DType.FLOAT32, source.shape, at, order=source.order, splits=source.splits)
    lowering.define(node.outputs[0], result.by(source, node=node.name, op=node.op))


def as_numbers(codes: Value, params: Parameters) -> Value:
    """The float value that is known to be these codes."""
    return decoded(Coded(codes, params.zero, params.scale), DType.FLOAT32)


def _dequantize_constant(lowering: Lowering, node: Node, array: np.ndarray, number: np.ndarray, grid: Grid | None) -> None:
    value = lowering.literal(number.astype(np.float32), node.outputs[0])
    if grid is not None:
        params, dtype = params_of(lowering, grid), held_type(lowering, grid)
        codes = (array.astype(np.int32) + shift_to(dtype, stored_type(lowering.graph, node))).astype(dtype.numpy)
        coded = Coded(lowering.literal(codes, f"{node.outputs[0]}_codes"), params.zero, params.scale)
        value = Value(value.dtype, value.shape, value.at, free=True, constant=value.constant, coded=coded)
    lowering.values[node.outputs[0]] = value


# Elementwise


def add(lowering: Lowering, operator: Sum) -> None:
    """Clause 5."""
    (p, q), end = (params_of(lowering, operand.grid) for operand in operator.operands), ending(lowering, operator.end)
    m_a, m_b = (real(float(multiplier)) for multiplier in operator.multipliers)

    def at(x: Expr, y: Expr) -> Expr:
        left = cast(difference(x, p.zero), FLOAT) * m_a
        right = cast(difference(y, q.zero), FLOAT) * m_b
        return settle(left + right, end.low, end.high, end.params.zero, lowering.activation)

    _combine(lowering, operator, at)


def multiply(lowering: Lowering, operator: Multiplication) -> None:
    """Clause 6."""
    (p, q), end = (params_of(lowering, operand.grid) for operand in operator.operands), ending(lowering, operator.end)
    m = real(float(operator.multiplier))

    def at(x: Expr, y: Expr) -> Expr:
        product = cast(difference(x, p.zero) * difference(y, q.zero), FLOAT)
        return settle(product * m, end.low, end.high, end.params.zero, lowering.activation)

    _combine(lowering, operator, at)


def _combine(lowering: Lowering, operator: Sum | Multiplication, rule: Callable[[Expr, Expr], Expr]) -> None:
    """An elementwise rule over the codes of both operands, with broadcasting."""
    node, shape = operator.node, lowering.shape(operator.node.outputs[0])
    a, b = (once(lowering, codes_of(lowering, operand), shape, operand.name) for operand in operator.operands)
    order, splits = layout_of([a, b], shape)

    def at(index: Index) -> Expr:
        return rule(a.at(broadcast_index(index, a.shape)), b.at(broadcast_index(index, b.shape)))

    result = Value(lowering.activation, shape, at, order=order, splits=splits)
    finish(lowering, operator.end, result.by(a, b, node=node.name, op=fused_name(operator)))


def look_up(lowering: Lowering, operator: Table) -> None:
    """Clause 9: t[q]. Where that is q nothing moves."""
    (source,), tail = operator.operands, operator.end
    codes, (low, _) = codes_of(lowering, source), limits(lowering.activation)
    entries = table(operator.functions, params_of(lowering, source.grid), params_of(lowering, tail.grid), lowering.activation)
    if (entries == np.arange(low, low + len(entries))).all():
        finish(lowering, tail, codes)
        return
    buffer = lowering.constant(f"{operator.node.name or tail.name}_table", entries)
    result = deferred(lowering, codes, lambda index: load(buffer, cast(codes.at(index), INT) - low, lowering.activation))
    for node in operator.nodes[: -len(tail.nodes)]:
        result = result.by(codes if not result.nodes else result, node=node.name, op=node.op)
    finish(lowering, tail, result)


# Concat


def concatenate(lowering: Lowering, operator: Join) -> None:
    """Clause 7: operands of the result's grid just move."""
    node, tail = operator.node, operator.tail
    parts = [_part(lowering, operand, operator.grid) for operand in operator.operands]
    whole = concatenated(lowering, node, tail.name if tail else node.outputs[0], parts, node.inputs)
    if tail is not None:
        finish(lowering, tail, whole)
    else:
        lowering.define(node.outputs[0], as_numbers(whole, params_of(lowering, operator.grid)))


def _part(lowering: Lowering, operand: Operand, grid: Grid) -> Value:
    codes = codes_of(lowering, operand)
    return codes if operand.grid == grid else _requantized(lowering, codes, operand.grid, grid).by(codes, op="Requantize")


def _requantized(lowering: Lowering, codes: Value, before: Grid, after: Grid) -> Value:
    """Clause 7, by a table where there are more codes than it has entries."""
    low, high = limits(lowering.activation)
    source, result = params_of(lowering, before), params_of(lowering, after)
    if elements(codes.shape) <= FEW_CODES:
        return deferred(lowering, codes, lambda index: requantize(codes.at(index), source, result, low, high, lowering.activation))
    buffer = lowering.constant("requantize_table", requantize_table(source, result, lowering.activation))
    return deferred(lowering, codes, lambda index: load(buffer, cast(codes.at(index), INT) - low, lowering.activation))
