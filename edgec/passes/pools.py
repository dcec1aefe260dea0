"""Padding into windows, relu before or after a maximum, and one form of the mean over an image."""

from __future__ import annotations

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.passes.arithmetic import bounds
from edgec.passes.rewrite import axes_of, become, emit, fixed_shape, integers, rewrites, scalar, sole_producer, why_not

FUSES_ACTIVATION = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul", "Add", "Sub", "Mul", "AveragePool", "GlobalAveragePool"})
NEVER_NEGATIVE = frozenset({"Relu", "Sigmoid", "HardSigmoid", "Softmax", "Abs", "Exp", "Sqrt", "Softplus"})
Pads = tuple[list[int], float]


@rewrites("Conv", "AveragePool", "MaxPool")
def fold_pad(graph: Graph, node: Node) -> bool:
    """conv(pad(x, 0)) -> conv(x) with the pads added; average pools then count them; max pools when a pad never wins."""
    pad = graph.producer(node.inputs[0], "Pad")
    if pad is None:
        return False
    padding = _spatial_padding(graph, pad)
    if padding is None:
        return why_not(node, "the Pad is not constant, or cuts, or pads batch or channels")
    if node.attributes.get("ceil_mode", 0):
        return why_not(node, "its size is rounded up")
    extra, value = padding
    pads = [own + more for own, more in zip(node.attributes["pads"], extra, strict=True)]
    reason = _refusal(graph, node, pad, pads, value)
    if reason:
        return why_not(node, reason)
    counted = {"count_include_pad": 1} if node.op == "AveragePool" else {}
    return become(graph, node, node.op, [pad.inputs[0], *node.inputs[1:]], {**node.attributes, "pads": pads, **counted})


def _refusal(graph: Graph, node: Node, pad: Node, pads: list[int], value: float) -> str:
    """Why the padding may not move into the window; "" when it may."""
    if node.op == "Conv":
        return "" if value == 0 else "the padding is not zero"
    kernel = node.attributes["kernel_shape"]
    if any(amount >= extent for amount, extent in zip(pads, (*kernel, *kernel), strict=True)):
        return "a window would lie in the padding alone"
    if node.op == "AveragePool":
        own = any(node.attributes["pads"]) and not node.attributes["count_include_pad"]
        return "the padding is not zero" if value != 0 else "its own padding is not counted" if own else ""
    if len(node.outputs) > 1 or any(step != 1 for step in node.attributes.get("dilations", [])):
        return "it is dilated or gives indices"
    return "" if value <= _lowest(graph, pad.inputs[0]) else "the padding may win"


def _lowest(graph: Graph, value: str) -> float:
    """A lower bound of the elements of `value`."""
    source = graph.producer(value)
    if source is None:
        return -np.inf
    limits = bounds(graph, source)
    return limits[0] if limits is not None else 0.0 if source.op in NEVER_NEGATIVE else -np.inf


def _spatial_padding(graph: Graph, pad: Node) -> Pads | None:
    """The pads over the spatial axes and the value of a constant Pad with no other effect."""
    rank = len(graph.shape(pad.inputs[0]))
    amounts = graph.constant(pad.inputs[1])
    value = scalar(graph, pad.input(2)) if pad.input(2) else 0.0
    axes = graph.constant(pad.input(3)) if pad.input(3) else np.arange(rank)
    if pad.attributes.get("mode", "constant") != "constant" or amounts is None or value is None or axes is None:
        return None
    full = np.zeros((2, rank), np.int64)
    full[:, axes.reshape(-1) % rank] = amounts.reshape(2, -1)
    if np.any(full < 0) or np.any(full[:, :2]):
        return None
    return [int(amount) for amount in full[:, 2:].reshape(-1)], value


@rewrites("MaxPool")
def maxpool_before_relu(graph: Graph, pool: Node) -> bool:
    """maxpool(relu(x)) -> relu(maxpool(x)), and clips: fewer elements, unless the relu is free after the operator before it."""
    bound = sole_producer(graph, pool.inputs[0], "Relu", "Clip")
    if bound is None or len(pool.outputs) > 1 or bounds(graph, bound) is None:
        return False
    if _is_fused(graph, bound.inputs[0]):
        return why_not(pool, "the activation is free where it is")
    if graph.types[pool.outputs[0]].elements >= graph.types[pool.inputs[0]].elements:
        return why_not(pool, "it makes nothing smaller")
    pooled = emit(graph, pool, "MaxPool", bound.inputs[:1], pool.attributes, hint=f"{pool.outputs[0]}_pooled", name=pool.name)
    return become(graph, pool, bound.op, [pooled, *bound.inputs[1:]], bound.attributes, name=bound.name)


@rewrites("Relu", "Clip")
def relu_before_maxpool(graph: Graph, bound: Node) -> bool:
    """relu(maxpool(conv(x))) -> maxpool(relu(conv(x))), and clips: there the relu is part of the convolution."""
    pool = sole_producer(graph, bound.inputs[0], "MaxPool")
    if pool is None or len(pool.outputs) > 1 or bounds(graph, bound) is None:
        return False
    if not _is_fused(graph, pool.inputs[0]):
        return why_not(bound, "no operator before the MaxPool takes it in")
    inputs = [pool.inputs[0], *bound.inputs[1:]]
    bounded = emit(graph, bound, bound.op, inputs, bound.attributes, hint=f"{pool.inputs[0]}_bounded", name=bound.name)
    return become(graph, bound, "MaxPool", [bounded], pool.attributes, name=pool.name)


def _is_fused(graph: Graph, value: str) -> bool:
    return sole_producer(graph, value, *FUSES_ACTIVATION) is not None


@rewrites("ReduceMean", "AveragePool")
def canonical_global_pool(graph: Graph, node: Node) -> bool:
    """mean over all of H and W, averagepool with the whole image as its window -> globalaveragepool (+ reshape)."""
    shape = fixed_shape(graph, node.inputs[0])
    if shape is None or len(shape) < 4 or not graph.dtype(node.inputs[0]).is_float:
        return False
    if node.op == "AveragePool":
        if any(node.attributes["pads"]) or tuple(node.attributes["kernel_shape"]) != shape[2:]:
            return False
        return become(graph, node, "GlobalAveragePool", node.inputs)
    if axes_of(graph, node) != tuple(range(2, len(shape))):
        return False
    if node.attributes.get("keepdims", 1):
        return become(graph, node, "GlobalAveragePool", node.inputs[:1])
    mean = emit(graph, node, "GlobalAveragePool", node.inputs[:1], hint=f"{node.outputs[0]}_mean", name=node.name)
    return become(graph, node, "Reshape", [mean, integers(graph, f"{node.outputs[0]}_shape", shape[:2])])
