"""Clauses 4 and 15: the integers of Conv, ConvTranspose, Gemm and MatMul, whose operand and result have 8 bits or 16."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from edgec.integer.grid import Grid, known_number, usable
from edgec.integer.operators import DotProduct, Operand, Tail, Weights, WideDotProduct
from edgec.integer.roles import bias_groups, channel_axis, matrix_refusal, may_end_in_float
from edgec.integer.shaping import Shaping
from edgec.ir.graph import Graph, Node

LIMIT = 2**31
WIDE_LIMIT = 2**53  # of sums that binary64 holds exactly


def dot_product_of(graph: Graph, node: Node, source: Grid, tail: Tail | None, shaping: Shaping | None = None) -> DotProduct | str:
    """The operator, or why neither clause 4 nor 15 computes `node`. shaping: of the sums, before the tail."""
    wide = source.bits == 16 or (tail is not None and tail.grid.bits == 16)
    why = matrix_refusal(graph, node) or ("three spatial axes" if len(graph.shape(node.inputs[1])) > 4 else "")
    found = why or _weights(graph, node)
    if isinstance(found, str):
        return found
    weights, scale = found
    steps = weights.steps
    if wide and not fits_int8(steps):
        return "its weights, less their zero points, leave int8"
    if tail is None and not wide and not may_end_in_float(graph, node):
        return "its result is not quantized, and depthwise weights have no ending in float"
    copies = bias_groups(node)
    scales = np.tile(np.broadcast_to(scale, (steps.shape[channel_axis(node)],)), copies).astype(np.float32)
    bias = _bias(graph, node.input(2), source, scales)
    if bias is None:
        return "the bias is not one finite number per channel"
    with np.errstate(over="ignore"):
        units = (np.float32(source.scale) * scales).astype(np.float32)
        multipliers = units / np.float32(tail.grid.scale) if tail and shaping is None else units
    behind = _behind(shaping, scales.size) if shaping is not None else None
    if not usable(*multipliers, *(() if behind is None else behind)):
        return "a multiplier is above 2^64"
    if (np.abs(bias) + reach(steps, channel_axis(node), copies) * source.most >= (WIDE_LIMIT if wide else LIMIT)).any():
        return "the integer accumulator could overflow"
    kind = WideDotProduct if wide else DotProduct
    function = shaping.function if shaping is not None else None
    return kind(node, (Operand(node.inputs[0], source),), tail, weights, bias, multipliers.astype(np.float32), function, behind)


def _behind(shaping: Shaping, channels: int) -> np.ndarray:
    """What the function's results are multiplied by: k[c] * (1 / s_y)."""
    inverse = np.float32(1) / np.float32(shaping.tail.grid.scale)
    with np.errstate(over="ignore"):
        found: np.ndarray = (np.ones(channels, np.float32) if shaping.multiplier is None else shaping.multiplier) * inverse
    return found.astype(np.float32)


def fits_int8(steps: np.ndarray) -> bool:
    return bool(steps.size == 0 or (steps.min() >= -128 and steps.max() <= 127))


def reach(steps: np.ndarray, axis: int, copies: int) -> np.ndarray:
    """The largest sum of an output channel's weights, each without its sign. copies: the groups that share `axis` of the weights."""
    channels = steps.shape[axis]
    terms = np.abs(np.moveaxis(steps, axis, 0)).reshape(channels, copies, steps.size // max(1, channels * copies))
    sums = terms.sum(axis=2, dtype=np.int64)
    return np.asarray(sums.T.reshape(-1))


def _weights(graph: Graph, node: Node) -> tuple[Weights, np.ndarray] | str:
    """And the scale of one group's output channels, or a single one."""
    source = graph.producer(node.inputs[1], "DequantizeLinear")
    codes = graph.constant(source.inputs[0]) if source is not None else None
    if source is None or codes is None or codes.dtype.itemsize != 1:
        return "its weights are no 8-bit numbers"
    scale = graph.constants[source.inputs[1]]
    zero = graph.constants[source.inputs[2]] if source.input(2) else np.zeros_like(scale, np.int32)
    if scale.size > 1 and source.attributes.get("axis", 1) % codes.ndim != channel_axis(node):
        return "the scales of its weights are not those of output channels"
    return Weights(codes, zero, source), scale.reshape(-1)


def _bias(graph: Graph, name: str, source: Grid, scales: np.ndarray) -> np.ndarray | None:
    """Integers at the scales source * scales."""
    if not name:
        return np.zeros(scales.size, np.int64)
    codes = _sum_codes(graph, name, source, scales)
    if codes is not None:
        return codes
    value = known_number(graph, name)
    if value is None or value.size not in (1, scales.size) or (value.ndim and value.shape[-1] != value.size):
        return None
    if not np.isfinite(value).all():
        return None
    step = Fraction(float(source.scale))
    numbers = np.broadcast_to(value.reshape(-1), (scales.size,))
    whole = [round(Fraction(float(b)) / (step * Fraction(float(s)))) for b, s in zip(numbers, scales, strict=True)]
    return np.array(whole, object).astype(np.int64)


def _sum_codes(graph: Graph, name: str, source: Grid, scales: np.ndarray) -> np.ndarray | None:
    """The codes of a bias whose own scale is fl32(s_x * s_w) and whose zero point is 0: they are the integers themselves."""
    node = graph.producer(name, "DequantizeLinear")
    codes = graph.constant(node.inputs[0]) if node is not None else None
    if node is None or codes is None or codes.dtype != np.int32 or codes.size != scales.size:
        return None
    scale = graph.constants[node.inputs[1]]
    zero = graph.constants[node.inputs[2]] if node.input(2) else np.zeros(1)
    wanted = (np.float32(source.scale) * scales).astype(np.float32)
    same = scale.size in (1, scales.size) and bool(np.array_equal(np.broadcast_to(scale.reshape(-1), wanted.shape), wanted))
    return codes.astype(np.int64).reshape(-1) if same and not zero.any() else None
