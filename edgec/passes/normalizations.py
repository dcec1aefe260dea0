"""Layer normalization, found again in its primitive operators, in three steps: the core, the scale, the bias; and by root mean squares.
Normalization of whole images, channels last, and of channels with what scales and shifts them."""

from __future__ import annotations

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType
from edgec.passes.reshapes import ELEMENTWISE
from edgec.passes.rewrite import (
    axes_of,
    become,
    constant_operand,
    derived,
    emit,
    fixed_shape,
    integers,
    rewrites,
    scalar,
    sole_producer,
    why_not,
)

IMAGES = frozenset({"Conv", "ConvTranspose", "MaxPool", "AveragePool"})


@rewrites("Div", "Mul")
def fuse_layer_norm(graph: Graph, node: Node) -> bool:
    """d / sqrt(mean(d*d) + eps), d = x - mean(x), both means over the last axes -> layernorm(x; scale of ones)."""
    match = _root_mean_square(graph, node)
    if match is None:
        return False
    deviation, square_mean, epsilon = match
    difference = graph.producer(deviation, "Sub")
    mean = graph.producer(difference.inputs[1], "ReduceMean") if difference is not None else None
    if difference is None or mean is None or mean.inputs[0] != difference.inputs[0]:
        return why_not(node, "its operand is no deviation from a mean")
    shape = graph.shape(difference.inputs[0])
    axes = axes_of(graph, mean)
    first = min(axes) if axes else len(shape)
    if not axes or axes != tuple(range(first, len(shape))) or axes_of(graph, square_mean) != axes:
        return why_not(node, "the means do not go over the last axes")
    extents = [extent for extent in shape[first:] if isinstance(extent, int)]
    keepdims = all(reduction.attributes.get("keepdims", 1) for reduction in (mean, square_mean))
    if not keepdims or len(extents) != len(axes) or graph.types[difference.inputs[0]] != graph.types[node.outputs[0]]:
        return why_not(node, "the means drop their axes, or an extent is a symbol")
    ones = graph.add_constant(f"{node.outputs[0]}_scale", np.ones(extents, graph.dtype(node.outputs[0]).numpy))
    return become(graph, node, "LayerNormalization", [difference.inputs[0], ones], {"axis": first - len(shape), "epsilon": epsilon})


@rewrites("Div", "Mul")
def fuse_root_norm(graph: Graph, node: Node) -> bool:
    """x / sqrt(mean(x*x) + eps), the mean over the last axis -> rmsnorm(x; scale of ones)."""
    match = _root_mean_square(graph, node)
    if match is None:
        return False
    x, mean, epsilon = match
    kind, extent = graph.types[x], graph.shape(x)[-1] if graph.shape(x) else None
    if axes_of(graph, mean) != (len(kind.shape) - 1,) or not isinstance(extent, int):
        return why_not(node, "the mean does not go over the last axis alone, or its extent is a symbol")
    if kind != graph.types[node.outputs[0]] or kind.dtype is not DType.FLOAT32 or not mean.attributes.get("keepdims", 1):
        return why_not(node, "the mean drops its axis, or the type is not float32")
    ones = graph.add_constant(f"{node.outputs[0]}_scale", np.ones(extent, np.float32))
    return become(graph, node, "RMSNormalization", [x, ones], {"axis": len(kind.shape) - 1, "epsilon": epsilon})


def _root_mean_square(graph: Graph, node: Node) -> tuple[str, Node, float] | None:
    """(d, its mean of squares, eps) when `node` is d / sqrt(mean(d*d) + eps), or d times the reciprocal or the power of -0.5."""
    pairs = [(node.inputs[0], node.inputs[1])] if node.op == "Div" else [(node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])]
    for deviation, divisor in pairs:
        total = _under_root(graph, divisor) if node.op == "Div" else _under_inverse_root(graph, divisor)
        operand = constant_operand(graph, total) if total is not None else None
        epsilon = scalar(graph, total.inputs[operand[2]]) if total is not None and operand is not None else None
        mean = graph.producer(operand[0], "ReduceMean") if operand is not None else None
        if mean is not None and epsilon is not None and _is_square(graph, mean.inputs[0], deviation):
            return deviation, mean, epsilon
    return None


def _under_root(graph: Graph, value: str) -> Node | None:
    """The Add of which `value` is the root."""
    root = graph.producer(value)
    if root is None or not (root.op == "Sqrt" or (root.op == "Pow" and scalar(graph, root.inputs[1]) == 0.5)):
        return None
    return graph.producer(root.inputs[0], "Add")


def _under_inverse_root(graph: Graph, value: str) -> Node | None:
    inverse = graph.producer(value)
    if inverse is None:
        return None
    if inverse.op == "Pow" and scalar(graph, inverse.inputs[1]) == -0.5:
        return graph.producer(inverse.inputs[0], "Add")
    reciprocal = inverse.op == "Reciprocal" or (inverse.op == "Div" and scalar(graph, inverse.inputs[0]) == 1)
    return _under_root(graph, inverse.inputs[-1]) if reciprocal else None


def _is_square(graph: Graph, value: str, x: str) -> bool:
    node = graph.producer(value)
    if node is None or node.inputs[0] != x:
        return False
    return (node.op == "Mul" and node.inputs[1] == x) or (node.op == "Pow" and scalar(graph, node.inputs[1]) == 2)


@rewrites("Reshape")
def normalize_images(graph: Graph, node: Node) -> bool:
    """reshape(instancenorm(reshape(x, [n, 1, all]))) of an image x, which is its normalization in one group -> the same of T(x), channels
    last, as convolutions leave and want it: sums go through memory as it lies."""
    norm = sole_producer(graph, node.inputs[0], "InstanceNormalization")
    flat = sole_producer(graph, norm.inputs[0], "Reshape") if norm is not None else None
    if norm is None or flat is None or graph.types[flat.inputs[0]] != graph.types[node.outputs[0]]:
        return False
    shape = fixed_shape(graph, flat.inputs[0])
    if shape is None or len(shape) < 3 or graph.shape(norm.inputs[0])[:2] != (shape[0], 1):
        return why_not(node, "it is none of whole images, or an extent is a symbol")
    if not _is_image(graph, flat.inputs[0]):
        return why_not(node, "no convolution makes what is normalized")
    there, back = [0, *range(2, len(shape)), 1], [0, len(shape) - 1, *range(1, len(shape) - 1)]
    last = emit(graph, node, "Transpose", [flat.inputs[0]], {"perm": there}, hint=f"{flat.inputs[0]}_channels_last")
    joined = emit(graph, node, "Reshape", [last, flat.inputs[1]], flat.attributes, hint=flat.outputs[0], name=flat.name)
    result = emit(graph, node, norm.op, [joined, *norm.inputs[1:]], norm.attributes, hint=norm.outputs[0], name=norm.name)
    apart = integers(graph, f"{node.outputs[0]}_shape", [shape[axis] for axis in there])
    image = emit(graph, node, "Reshape", [result, apart], hint=f"{node.outputs[0]}_channels_last", name=node.name)
    return become(graph, node, "Transpose", [image], {"perm": back}, name=derived(node.name, "Transpose"))


def _is_image(graph: Graph, value: str, steps: int = 8) -> bool:
    """Whether a convolution or pool makes it, or what elementwise operators of few steps make it of."""
    maker = graph.producer(value)
    if maker is None or steps == 0:
        return False
    if maker.op in IMAGES:
        return True
    return maker.op in ELEMENTWISE and any(_is_image(graph, name, steps - 1) for name in maker.inputs if name)


@rewrites("Mul")
def fold_layer_norm_scale(graph: Graph, node: Node) -> bool:
    """layernorm(x; s) * c -> layernorm(x; s*c), for a constant c over the normalized axes, when there is no bias yet; rmsnorm likewise."""
    match = _norm_and_constant(graph, node, "LayerNormalization", "RMSNormalization")
    if match is None:
        return False
    norm, constant = match
    scale = graph.constant(norm.inputs[1])
    if scale is None or norm.input(2):
        return why_not(node, "the scale is computed, or the normalization has a bias")
    product = (scale.astype(np.float64) * constant).astype(scale.dtype)
    return become(graph, node, norm.op, [norm.inputs[0], graph.add_constant(norm.inputs[1], product)], norm.attributes)


@rewrites("Add")
def fold_layer_norm_bias(graph: Graph, node: Node) -> bool:
    """layernorm(x; s, b) + c -> layernorm(x; s, b + c), for a constant c over the normalized axes."""
    match = _norm_and_constant(graph, node, "LayerNormalization")
    if match is None:
        return False
    norm, constant = match
    bias = graph.constant(norm.inputs[2]) if norm.input(2) else np.zeros_like(constant)
    if bias is None:
        return why_not(node, "the bias is computed")
    name = graph.add_constant(norm.input(2) or f"{norm.outputs[0]}_bias", (bias.astype(np.float64) + constant).astype(constant.dtype))
    return become(graph, node, "LayerNormalization", [*norm.inputs[:2], name], norm.attributes)


def _norm_and_constant(graph: Graph, node: Node, *operators: str) -> tuple[Node, np.ndarray] | None:
    """The normalization before a binary node, and its constant operand broadcast to the normalized axes."""
    operand = constant_operand(graph, node)
    norm = sole_producer(graph, operand[0], *operators) if operand is not None else None
    if operand is None or norm is None or len(norm.outputs) > 1 or graph.types[operand[0]] != graph.types[node.outputs[0]]:
        return None
    shape, constant = graph.types[norm.inputs[1]].static_shape, operand[1]
    leading = constant.shape[: max(0, constant.ndim - len(shape))]
    if any(extent != 1 for extent in leading):
        why_not(node, "the constant varies over other axes")
        return None
    return norm, np.array(np.broadcast_to(constant.reshape(constant.shape[len(leading) :]), shape))


@rewrites("Mul")
def fold_instance_norm_scale(graph: Graph, node: Node) -> bool:
    """instancenorm(x; s, b) * c -> instancenorm(x; s*c, b*c), for a constant c of one number for each channel, or for all."""
    match = _norm_of_channels(graph, node)
    if match is None:
        return False
    norm, scale, bias, constant = match
    return _become_instance_norm(graph, node, norm, scale.astype(np.float64) * constant, bias.astype(np.float64) * constant)


@rewrites("Add")
def fold_instance_norm_bias(graph: Graph, node: Node) -> bool:
    """instancenorm(x; s, b) + c -> instancenorm(x; s, b + c), for a constant c of one number for each channel, or for all."""
    match = _norm_of_channels(graph, node)
    if match is None:
        return False
    norm, scale, bias, constant = match
    return _become_instance_norm(graph, node, norm, scale, bias.astype(np.float64) + constant)


def _norm_of_channels(graph: Graph, node: Node) -> tuple[Node, np.ndarray, np.ndarray, np.ndarray] | None:
    """The normalization before a binary node, its constant scale and bias, and the node's constant operand for each channel."""
    operand = constant_operand(graph, node)
    norm = sole_producer(graph, operand[0], "InstanceNormalization") if operand is not None else None
    if operand is None or norm is None or graph.types[operand[0]] != graph.types[node.outputs[0]]:
        return None
    scale, bias = (graph.constant(name) for name in norm.inputs[1:])
    constant = operand[1].reshape(*[1] * (len(graph.shape(operand[0])) - operand[1].ndim), *operand[1].shape)
    if scale is None or bias is None or constant.size != constant.shape[1]:
        why_not(node, "the scale or bias is computed, or the constant varies over other axes")
        return None
    return norm, scale, bias, np.broadcast_to(constant.reshape(-1), scale.shape)


def _become_instance_norm(graph: Graph, node: Node, norm: Node, scale: np.ndarray, bias: np.ndarray) -> bool:
    kept = [graph.add_constant(name, array.astype(np.float32)) for name, array in zip(norm.inputs[1:], (scale, bias), strict=True)]
    return become(graph, node, norm.op, [norm.inputs[0], *kept], norm.attributes)
