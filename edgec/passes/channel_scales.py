"""Multipliers by channel around codes go into the scales of coded weights: a value's codes then have one scale for all channels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.passes.arithmetic import bounds
from edgec.passes.rewrite import become, constant_operand, emit, per_channel, rewrites, scalar, sole_producer, why_not

LEAST = 2.0**-126  # a normal scale
ROUNDED = 0.49  # steps that a number may miss a code by


@rewrites("Mul")
def multiply_before_bounds(graph: Graph, node: Node) -> bool:
    """clip(conv(x), a, b) * c -> relu(conv(x) * c), for a constant c > 0 over channels, where a is 0 and b * c beyond the largest code of
    what quantizes the product, as b is of a Relu. Where a * c is below all codes, conv(x) * c alone.
    """
    operand = constant_operand(graph, node)
    activation = sole_producer(graph, operand[0], "Relu", "Clip") if operand is not None else None
    limits = bounds(graph, activation) if activation is not None else None
    conv = sole_producer(graph, activation.inputs[0], "Conv") if activation is not None else None
    if operand is None or activation is None or conv is None or limits is None:
        return False
    factor = per_channel(operand[1], graph.shape(node.outputs[0]), 1)
    if factor is None or graph.types[operand[0]] != graph.types[node.outputs[0]] or not _are_positive(factor):
        return why_not(node, "its constant is not a positive number for each channel")
    (low, high), (below, above) = limits, _ends(graph, node)
    if (high * factor < above).any() or (low != 0 and (low * factor > below).any()):
        return why_not(node, "a bound differs between channels, and codes reach it")
    if low != 0:
        return become(graph, node, "Mul", [conv.outputs[0], node.inputs[operand[2]]])
    product = emit(graph, node, "Mul", [conv.outputs[0], node.inputs[operand[2]]], hint=f"{conv.outputs[0]}_scaled", name=node.name)
    return become(graph, node, "Relu", [product], name=activation.name)


@rewrites("Mul")
def multiply_coded_weights(graph: Graph, node: Node) -> bool:
    """conv(x, dequantize(w, s), b) * c -> conv(x, dequantize(w, s * c), b * c), for a constant c > 0 over channels."""
    operand = constant_operand(graph, node)
    conv = sole_producer(graph, operand[0], "Conv") if operand is not None else None
    if operand is None or conv is None or graph.producer(conv.inputs[1], "DequantizeLinear") is None:
        return False
    factor = per_channel(operand[1], graph.shape(conv.outputs[0]), 1)
    if factor is None or graph.types[conv.outputs[0]] != graph.types[node.outputs[0]]:
        return why_not(node, "the constant does not go by channel")
    parts = [_scaled(graph, name, factor) for name in conv.inputs[1:] if name]
    if None in parts:
        return why_not(node, "the scales of the weights do not take it in, or the bias is computed")
    inputs = [conv.inputs[0], *(_placed(graph, node, part) for part in parts if part is not None)]
    return become(graph, node, "Conv", inputs, conv.attributes, name=conv.name)


@rewrites("Conv")
def multiply_depthwise_codes(graph: Graph, node: Node) -> bool:
    """conv(x * c, dequantize(w, s)) -> conv(x, dequantize(w, s * c)), for a constant c > 0 over channels, each of which is a group."""
    multiplication = graph.producer(node.inputs[0], "Mul")
    operand = constant_operand(graph, multiplication) if multiplication is not None else None
    if operand is None or graph.producer(node.inputs[1], "DequantizeLinear") is None:
        return False
    shape, weights = graph.shape(operand[0]), graph.types[node.inputs[1]].static_shape
    if graph.types[operand[0]] != graph.types[node.inputs[0]] or node.attributes["group"] != shape[1]:
        return why_not(node, "a product takes several channels")
    factor = per_channel(operand[1], shape, 1)
    part = _scaled(graph, node.inputs[1], np.repeat(factor, weights[0] // len(factor))) if factor is not None else None
    if part is None:
        return why_not(node, "the scales of the weights do not take the multiplier in")
    return become(graph, node, "Conv", [operand[0], _placed(graph, node, part), *node.inputs[2:]], node.attributes)


def _are_positive(factor: np.ndarray) -> bool:
    return bool((factor > 0).all() and np.isfinite(factor).all())


def _ends(graph: Graph, node: Node) -> tuple[float, float]:
    """Numbers that still become the least and the largest code, of the QuantizeLinear that alone reads `node`. Infinite without it."""
    readers = graph.readers(node.outputs[0])
    reader = readers[0] if len(readers) == 1 and node.outputs[0] not in graph.outputs else None
    scale = scalar(graph, reader.inputs[1]) if reader is not None and reader.op == "QuantizeLinear" else None
    zero = graph.constant(reader.inputs[2]) if reader is not None and scale is not None else None
    if scale is None or zero is None or zero.size != 1:
        return -np.inf, np.inf
    info, middle = np.iinfo(zero.dtype), int(zero.item())
    return (info.min - middle + ROUNDED) * scale, (info.max - middle - ROUNDED) * scale


@dataclass(frozen=True)
class Scaled:
    """The numbers of a constant, or the scales and zero points of its `codes`, by which its values are called near to `hint`."""

    hint: str
    numbers: np.ndarray
    codes: str = ""
    zero: np.ndarray | None = None


def _scaled(graph: Graph, name: str, factor: np.ndarray) -> Scaled | None:
    """A vector, or a coded constant, each part along the first axis times its factor; None where it has no such scales."""
    source, known = graph.producer(name, "DequantizeLinear"), graph.constant(name)
    if not _are_positive(factor):
        return None
    if source is None:
        return Scaled(name, (known * factor).astype(known.dtype)) if known is not None and known.ndim == 1 else None
    codes, scale, zero = (graph.constant(item) if item else None for item in (*source.inputs[:2], source.input(2)))
    if codes is None or scale is None or source.attributes.get("block_size", 0):
        return None
    if scale.size > 1 and source.attributes.get("axis", 1) % codes.ndim != 0:
        return None
    scales = (scale.reshape(-1) * factor).astype(scale.dtype)
    if not np.isfinite(scales).all() or scales.min() < LEAST:
        return None
    return Scaled(name, scales, source.inputs[0], None if zero is None else np.broadcast_to(zero.reshape(-1), scales.shape).copy())


def _placed(graph: Graph, before: Node, part: Scaled) -> str:
    """The value, for what stands in place of `before`."""
    if not part.codes:
        return graph.add_constant(part.hint, part.numbers)
    zero = [] if part.zero is None else [graph.add_constant(f"{part.hint}_zero_point", part.zero)]
    inputs = [part.codes, graph.add_constant(f"{part.hint}_scale", part.numbers), *zero]
    return emit(graph, before, "DequantizeLinear", inputs, {"axis": 0}, hint=part.hint)
