"""QuantizeLinear, DequantizeLinear and the integer patterns of docs/int8.md, clause 11, except the matrix ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.lower.builder import Lowering, Unsupported
from edgec.lower.coding import (
    Params,
    coded_form,
    decoded,
    difference,
    limits,
    number_code,
    quantize,
    requantize,
    requantize_table,
    settle,
    shift_to,
)
from edgec.lower.elementwise import layout_of, once
from edgec.lower.movement import broadcast_index
from edgec.lower.moves import concatenated
from edgec.lower.tail import activation_bounds, sole_reader
from edgec.lower.values import Coded, Index, Value, elements
from edgec.program.expr import FLOAT, INT, Expr, cast, load, real

FEW_CODES = 1024  # a tensor of no more is requantized by arithmetic
LARGEST_MULTIPLIER = np.float32(2.0**64)
EIGHT_BIT = (DType.INT8, DType.UINT8)


@dataclass(frozen=True)
class Ending:
    """The QuantizeLinear where an integer pattern ends: its output, parameters and bounds, and the nodes on the way."""

    name: str
    dtype: DType  # ONNX's type of the output
    params: Params
    low: int
    high: int
    nodes: tuple[Node, ...]


def parameters(lowering: Lowering, node: Node) -> tuple[Params, DType] | None:
    """Per-tensor constant 8-bit parameters of a Q or DQ node in the target's signedness, and ONNX's 8-bit type."""
    graph = lowering.graph
    scale, zero = graph.constant(node.inputs[1]), graph.constant(node.input(2)) if node.input(2) else None
    if scale is None or scale.size != 1 or scale.dtype != np.float32 or (node.input(2) and zero is None):
        return None
    dtype = graph.dtype(node.outputs[0] if node.op == "QuantizeLinear" else node.inputs[0])
    if dtype not in EIGHT_BIT:
        return None
    return Params(np.float32(scale.item()), (0 if zero is None else int(zero.item())) + shift_to(lowering.activation, dtype)), dtype


def coded_params(value: Value | None) -> Params | None:
    """The parameters of a float value that is known to be 8-bit codes."""
    if value is None or value.coded is None or value.coded.scale is None:
        return None
    return Params(value.coded.scale, value.coded.zero)


def ending(lowering: Lowering, name: str, activation: bool = True) -> Ending | None:
    """The QuantizeLinear that alone reads `name`, through at most one Relu or Clip with constant bounds."""
    graph, nodes, bounds = lowering.graph, [], None
    reader = sole_reader(graph, name)
    if reader is not None and activation and reader.op in ("Relu", "Clip") and reader.inputs[0] == name:
        bounds = activation_bounds(graph, reader)
        if bounds is None:
            return None
        nodes, name = [reader], reader.outputs[0]
        reader = sole_reader(graph, name)
    found = parameters(lowering, reader) if reader is not None and reader.op == "QuantizeLinear" and reader.inputs[0] == name else None
    if reader is None or found is None:
        return None
    params, dtype = found
    low, high = limits(lowering.activation)
    if bounds is not None:
        low = low if bounds[0] == float("-inf") else number_code(bounds[0], params, lowering.activation)
        high = high if bounds[1] == float("inf") else number_code(bounds[1], params, lowering.activation)
    return Ending(reader.outputs[0], dtype, params, low, high, (*nodes, reader))


def finish(lowering: Lowering, end: Ending, value: Value) -> None:
    """Define the pattern's output; its nodes are done."""
    for node in end.nodes:
        lowering.absorb(node)
    lowering.define(end.name, as_onnx(lowering, value, end.dtype))


def as_onnx(lowering: Lowering, value: Value, dtype: DType) -> Value:
    """Codes of the target as the ONNX 8-bit tensor that they stand for."""
    return decoded(Coded(value, shift_to(lowering.activation, dtype), None), dtype)


def usable(*multipliers: np.floating) -> bool:
    return all(bool(multiplier <= LARGEST_MULTIPLIER) for multiplier in multipliers)


def ratio(a: np.float32, b: np.float32) -> np.float32:
    with np.errstate(over="ignore"):
        return np.float32(a / b)


# Nodes


def quantize_node(lowering: Lowering, node: Node) -> None:
    """Clause 7 when the operand is 8-bit codes, else clause 2."""
    found, value = parameters(lowering, node), lowering.value(node.inputs[0])
    if found is None:
        raise Unsupported("only constant per-tensor 8-bit parameters are supported on computed values", "quantize activations per tensor")
    params, dtype = found
    source = coded_params(value)
    if source is not None and value.coded is not None and usable(ratio(source.scale, params.scale)):
        codes = value.coded.value
        if source == params:
            lowering.define(node.outputs[0], as_onnx(lowering, codes, dtype))
            return
        result = _requantized(lowering, codes, source, params).by(codes, node=node.name, op="Requantize")
    else:
        result = deferred(lowering, value, lambda index: quantize(value.at(index), params, lowering.activation))
        result = result.by(value, node=node.name, op=node.op)
    lowering.define(node.outputs[0], as_onnx(lowering, result, dtype))


def deferred(lowering: Lowering, like: Value, at: object) -> Value:
    """An 8-bit value of the shape and memory order of `like`."""
    return Value(lowering.activation, like.shape, at, order=like.order, splits=like.splits)  # type: ignore[arg-type]


def dequantize_node(lowering: Lowering, node: Node) -> None:
    """Constants become known float tensors; per-tensor 8-bit values stay codes; the rest is clause 3 as an expression."""
    scale, zero = (lowering.graph.constant(name) if name else None for name in (node.inputs[1], node.input(2)))
    if scale is None or (node.input(2) and zero is None):
        raise Unsupported("scale and zero point must be constants")
    zero = np.zeros_like(scale, np.int32) if zero is None else zero.astype(np.int32)
    array = lowering.graph.constant(node.inputs[0])
    if array is not None:
        _dequantize_constant(lowering, node, array, scale, zero)
        return
    source, found = lowering.value(node.inputs[0]), parameters(lowering, node)
    if found is not None:
        params, _ = found
        coded = Coded(coded_form(source, lowering.activation), params.zero, params.scale)
        lowering.define(node.outputs[0], decoded(coded, DType.FLOAT32))
        return
    scales = lowering.literal(along(scale, source.rank, node), node.inputs[1])
    zeros = lowering.literal(along(zero, source.rank, node))

    def at(index: Index) -> Expr:
        code = cast(source.at(index), INT) - zeros.at(broadcast_index(index, zeros.shape))
        return cast(code, FLOAT) * scales.at(broadcast_index(index, scales.shape))

    result = Value(DType.FLOAT32, source.shape, at, order=source.order, splits=source.splits)
    lowering.define(node.outputs[0], result.by(source, node=node.name, op=node.op))


def along(values: np.ndarray, rank: int, node: Node) -> np.ndarray:
    """Per-axis parameters in the shape that broadcasts to the tensor."""
    if values.size == 1:
        return values.reshape(())
    axis = node.attributes.get("axis", 1) % rank
    return values.reshape([-1 if d == axis else 1 for d in range(rank)])


def _dequantize_constant(lowering: Lowering, node: Node, array: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> None:
    number = (array.astype(np.int64) - along(zero, array.ndim, node).astype(np.int64)).astype(np.float32) * along(scale, array.ndim, node)
    value = lowering.literal(number.astype(np.float32), node.outputs[0])
    found = parameters(lowering, node)
    if found is not None:
        params, dtype = found
        codes = (array.astype(np.int32) + shift_to(lowering.activation, dtype)).astype(lowering.activation.numpy)
        coded = Coded(lowering.literal(codes, f"{node.outputs[0]}_codes"), params.zero, params.scale)
        value = Value(value.dtype, value.shape, value.at, free=True, constant=value.constant, coded=coded)
    lowering.values[node.outputs[0]] = value


# Patterns on two or more operands: each returns whether it computed the node


def add_pattern(lowering: Lowering, node: Node) -> bool:
    """Clause 5."""
    found = _operands(lowering, node)
    if found is None:
        return False
    (a, b), (p, q), end = found
    m_a, m_b = ratio(p.scale, end.params.scale), ratio(q.scale, end.params.scale)
    if not usable(m_a, m_b):
        return False
    m_b = -m_b if node.op == "Sub" else m_b

    def at(x: Expr, y: Expr) -> Expr:
        left = cast(difference(x, p.zero), FLOAT) * real(float(m_a))
        right = cast(difference(y, q.zero), FLOAT) * real(float(m_b))
        return settle(left + right, end.low, end.high, end.params.zero, lowering.activation)

    _combine(lowering, node, (a, b), at, end)
    return True


def mul_pattern(lowering: Lowering, node: Node) -> bool:
    """Clause 6."""
    found = _operands(lowering, node)
    if found is None:
        return False
    (a, b), (p, q), end = found
    with np.errstate(over="ignore"):
        m = ratio(np.float32(p.scale * q.scale), end.params.scale)
    if not usable(m):
        return False

    def at(x: Expr, y: Expr) -> Expr:
        product = cast(difference(x, p.zero) * difference(y, q.zero), FLOAT)
        return settle(product * real(float(m)), end.low, end.high, end.params.zero, lowering.activation)

    _combine(lowering, node, (a, b), at, end)
    return True


def _operands(lowering: Lowering, node: Node) -> tuple[list[Value], list[Params], Ending] | None:
    if len(node.inputs) != 2:
        return None
    values = [lowering.value(name) for name in node.inputs]
    params = [coded_params(value) for value in values]
    end = ending(lowering, node.outputs[0])
    known = [item for item in params if item is not None]
    if end is None or len(known) < 2:
        return None
    return [value.coded.value for value in values if value.coded], known, end


def _combine(lowering: Lowering, node: Node, operands: tuple[Value, Value], rule: object, end: Ending) -> None:
    """An elementwise rule over the codes of both operands, with broadcasting."""
    shape = lowering.shape(node.outputs[0])
    a, b = (once(lowering, value, shape, name) for value, name in zip(operands, node.inputs, strict=True))
    order, splits = layout_of([a, b], shape)

    def at(index: Index) -> Expr:
        return rule(a.at(broadcast_index(index, a.shape)), b.at(broadcast_index(index, b.shape)))  # type: ignore[operator, no-any-return]

    result = Value(lowering.activation, shape, at, order=order, splits=splits)
    finish(lowering, end, result.by(a, b, node=node.name, op="+".join([node.op, *(item.op for item in end.nodes[:-1])])))


def concat_pattern(lowering: Lowering, node: Node) -> bool:
    """Clause 7: every operand requantized to the result's parameters; operands of equal parameters just move."""
    values = [lowering.value(name) for name in node.inputs]
    params = [coded_params(value) for value in values]
    known = [item for item in params if item is not None]
    if len(known) < len(values):
        return False
    codes = [value.coded.value for value in values if value.coded]
    if len(set(known)) == 1:
        end = ending(lowering, node.outputs[0], activation=False)
        name = end.name if end is not None and end.params == known[0] else node.outputs[0]
        whole = concatenated(lowering, node, name, codes, node.inputs)
        lowering.define(node.outputs[0], decoded(Coded(whole, known[0].zero, known[0].scale), DType.FLOAT32))
        return True
    end = ending(lowering, node.outputs[0], activation=False)
    if end is None or not usable(*(ratio(item.scale, end.params.scale) for item in known)):
        return False
    parts = [_part(lowering, value, item, end.params) for value, item in zip(codes, known, strict=True)]
    finish(lowering, end, concatenated(lowering, node, end.name, parts, node.inputs))
    return True


def _part(lowering: Lowering, codes: Value, source: Params, result: Params) -> Value:
    if source == result:
        return codes
    return _requantized(lowering, codes, source, result).by(codes, op="Requantize")


def _requantized(lowering: Lowering, codes: Value, source: Params, result: Params) -> Value:
    """Clause 7, by a table where there are more codes than it has entries."""
    low, high = limits(lowering.activation)
    if elements(codes.shape) <= FEW_CODES:
        return deferred(lowering, codes, lambda index: requantize(codes.at(index), source, result, low, high, lowering.activation))
    buffer = lowering.constant("requantize_table", requantize_table(source, result, lowering.activation))
    return deferred(lowering, codes, lambda index: load(buffer, cast(codes.at(index), INT) - low, lowering.activation))
