"""A multiplication or an addition for each channel goes into the weights and the bias before it."""

from __future__ import annotations

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.passes.rewrite import become, constant_operand, emit, per_channel, rewrites, sole_producer, why_not

CHANNEL_AXIS = {"Conv": 1, "ConvTranspose": 1, "Gemm": 1, "MatMul": -1}


@rewrites("BatchNormalization")
def fold_batch_norm(graph: Graph, norm: Node) -> bool:
    """norm(conv(x, w, b)) -> conv(x, w*g, (b - mean)*g + beta) with g = gamma/sqrt(var + eps), when nobody else reads the conv."""
    parts = _norm_affine(graph, norm)
    matrix = sole_producer(graph, norm.inputs[0], "Conv", "ConvTranspose", "Gemm")
    if parts is None or matrix is None:
        return why_not(norm, "its operand is no convolution of its own, or its statistics are computed")
    return _fold(graph, norm, matrix, *parts)


@rewrites("BatchNormalization")
def batch_norm_to_affine(graph: Graph, norm: Node) -> bool:
    """norm(x) -> x*g + (beta - mean*g) with g = gamma/sqrt(var + eps)."""
    parts = _norm_affine(graph, norm)
    if parts is None:
        return why_not(norm, "its statistics are computed")
    shape = (-1, *(1 for _ in graph.shape(norm.inputs[0])[2:]))
    dtype = graph.dtype(norm.inputs[0]).numpy
    scale, shift = (
        graph.add_constant(f"{norm.outputs[0]}_{word}", part.astype(dtype).reshape(shape))
        for word, part in zip(("scale", "shift"), parts, strict=True)
    )
    scaled = emit(graph, norm, "Mul", [norm.inputs[0], scale], hint=f"{norm.outputs[0]}_scaled", name=norm.name)
    return become(graph, norm, "Add", [scaled, shift], outputs=norm.outputs[:1])


@rewrites("Mul", "Div")
def fold_multiplier(graph: Graph, node: Node) -> bool:
    """conv(x, w, b) * c -> conv(x, w*c, b*c), and / c likewise, for a constant c over channels."""
    match = _channel_constant(graph, node)
    if match is None or (node.op == "Div" and graph.constant(node.inputs[1]) is None):
        return False
    matrix, vector = match
    scale = vector if node.op == "Mul" else 1 / vector
    if not np.all(np.isfinite(scale)):
        return why_not(node, "it divides by zero")
    return _fold(graph, node, matrix, scale, np.zeros_like(scale))


@rewrites("Add", "Sub")
def fold_addend(graph: Graph, node: Node) -> bool:
    """conv(x, w, b) + c -> conv(x, w, b + c); - c likewise; c - conv(x, w, b) -> conv(x, -w, c - b), for a constant c over channels."""
    match = _channel_constant(graph, node)
    if match is None:
        return False
    matrix, vector = match
    if matrix.op == "MatMul":
        return why_not(node, "a MatMul has no bias")
    reversed_ = node.op == "Sub" and graph.constant(node.inputs[0]) is not None
    shift = -vector if node.op == "Sub" and not reversed_ else vector
    return _fold(graph, node, matrix, np.full_like(vector, -1.0 if reversed_ else 1.0), shift)


@rewrites("Mul", "Div")
def scale_before_product(graph: Graph, node: Node) -> bool:
    """(move(linear(x)) @ y) * c -> move(linear(x) * c) @ y for a number c, and / c likewise, as attention scales its scores.

    linear: an operator with constant weights, which then take c in; move: any Reshape and Transpose. On either side of the product.
    """
    operand = constant_operand(graph, node)
    product = sole_producer(graph, operand[0], "MatMul") if operand is not None else None
    if operand is None or product is None or operand[1].size != 1 or (node.op == "Div" and operand[2] == 0):
        return False
    if not graph.dtype(node.outputs[0]).is_float:
        return why_not(node, "integers divide with a rest")
    if graph.types[operand[0]] != graph.types[node.outputs[0]]:
        return why_not(node, "the constant has more axes than the product")
    if not np.isfinite(operand[1]).all() or not operand[1].all():
        return why_not(node, "the constant is no finite number, or 0")
    first = next(filter(None, (_scalable(graph, name) for name in product.inputs)), None)
    if first is None:
        return why_not(node, "neither operand of the product comes from constant weights alone")
    linear, mover = first
    value = linear.outputs[0]
    scaled = emit(graph, mover or product, node.op, [value, node.inputs[operand[2]]], hint=f"{value}_scaled", name=node.name)
    reader = mover or product
    graph.rewire(reader, [scaled if name == value else name for name in reader.inputs])
    return become(graph, node, "MatMul", product.inputs, name=product.name)


def _scalable(graph: Graph, name: str) -> tuple[Node, Node | None] | None:
    """The operator with constant weights that alone makes an operand of a product, and the first mover behind it, if there is one."""
    mover, node = None, sole_producer(graph, name, *CHANNEL_AXIS, "Reshape", "Transpose")
    while node is not None and node.op in ("Reshape", "Transpose"):
        mover, node = node, sole_producer(graph, node.inputs[0], *CHANNEL_AXIS, "Reshape", "Transpose")
    known = node is not None and all(graph.constant(item) is not None for item in node.inputs[1:] if item)
    return (node, mover) if node is not None and known else None


def _norm_affine(graph: Graph, norm: Node) -> tuple[np.ndarray, np.ndarray] | None:
    """(scale, shift) of an inference BatchNormalization in float64."""
    arrays = [graph.constant(name) for name in norm.inputs[1:5]]
    gamma, beta, mean, variance = (None if array is None else array.astype(np.float64) for array in arrays)
    if gamma is None or beta is None or mean is None or variance is None or norm.attributes.get("training_mode", 0):
        return None
    scale = gamma / np.sqrt(variance + norm.attributes.get("epsilon", 1e-5))
    return scale, beta - mean * scale


def _channel_constant(graph: Graph, node: Node) -> tuple[Node, np.ndarray] | None:
    """The matrix operator before a binary node with a constant, and that constant as a vector over its output channels."""
    operand = constant_operand(graph, node)
    matrix = sole_producer(graph, operand[0], *CHANNEL_AXIS) if operand is not None else None
    if operand is None or matrix is None or graph.types[operand[0]] != graph.types[node.outputs[0]]:
        return None
    if not graph.dtype(node.outputs[0]).is_float:
        why_not(node, "integers divide with a rest, and wrap around")
        return None
    if len(graph.shape(matrix.inputs[1])) < 2:
        why_not(node, "a product with a vector has no output channels")
        return None
    vector = per_channel(operand[1], graph.shape(operand[0]), CHANNEL_AXIS[matrix.op])
    if vector is None:
        why_not(node, "the constant does not go by channel")
    return None if vector is None else (matrix, vector)


def _fold(graph: Graph, root: Node, matrix: Node, scale: np.ndarray, shift: np.ndarray) -> bool:
    """Let `root`, which is matrix(x, w, b)*scale + shift, become matrix(x, w*scale, b*scale + shift)."""
    weight = graph.constant(matrix.inputs[1])
    if weight is None:
        return why_not(root, "the weights are computed")
    bias = np.zeros_like(scale)
    if matrix.input(2):
        constant = graph.constant(matrix.inputs[2])
        vector = None if constant is None else per_channel(constant, graph.shape(matrix.outputs[0]), 1) if matrix.op == "Gemm" else constant
        if vector is None:
            return why_not(root, "the bias is computed, or does not go by channel")
        bias = vector.astype(np.float64) * (matrix.attributes.get("beta", 1.0) if matrix.op == "Gemm" else 1.0)
    inputs, attributes = [matrix.inputs[0], matrix.inputs[1]], dict(matrix.attributes)
    if not np.all(scale == 1):
        inputs[1] = graph.add_constant(matrix.inputs[1], _scaled(matrix, weight, scale))
    shifted = bias * scale + shift
    if matrix.op == "Gemm":
        attributes["beta"] = 1.0
    if matrix.op != "MatMul" and (matrix.input(2) or np.any(shifted)):
        inputs.append(graph.add_constant(matrix.input(2) or f"{matrix.inputs[1]}_bias", shifted.astype(weight.dtype)))
    return become(graph, root, matrix.op, inputs, attributes, name=matrix.name, outputs=root.outputs[:1])


def _scaled(matrix: Node, weight: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """`weight` with each output channel times its scale, computed in float64."""
    wide = weight.astype(np.float64)
    if matrix.op == "ConvTranspose":  # [C, M/group, ...]: output channel = group*(M/group) + j
        groups = matrix.attributes.get("group", 1)
        grouped = wide.reshape(groups, weight.shape[0] // groups, weight.shape[1], -1) * scale.reshape(groups, 1, -1, 1)
        return np.asarray(grouped.reshape(weight.shape).astype(weight.dtype))
    rows = matrix.op == "Conv" or (matrix.op == "Gemm" and matrix.attributes.get("transB", 0))
    factor = scale.reshape(-1, *(1 for _ in weight.shape[1:])) if rows else scale
    return np.asarray((wide * factor).astype(weight.dtype))
