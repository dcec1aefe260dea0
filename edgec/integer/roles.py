"""What a node can be in integers, by its operator, shapes and constants alone: asked before there are any codes, and by `match`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgec.integer.grid import is_known
from edgec.integer.layer_norm import layer_norm_refusal
from edgec.integer.pair_product import is_pair, pair_refusal
from edgec.integer.softmax import softmax_refusal
from edgec.integer.unary import WITH_SCALAR, function_of
from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType
from edgec.ops.registry import OPERATORS, Role

FOLLOWED = frozenset({Role.MATRIX, Role.PAIR, Role.ADD, Role.MUL, Role.AVERAGE})  # a Relu or Clip behind them may be computed with them


def role_of(graph: Graph, node: Node) -> tuple[Role, str]:
    """The role this very node of a float graph can have, or FLOAT and why (an empty reason: the operator never computes in integers)."""
    known = OPERATORS.get(node.op)
    role = known.role if known else Role.FLOAT
    data = [name for name in node.inputs if name and name not in graph.constants]
    if node.op in WITH_SCALAR and len(data) == 1 and graph.dtype(data[0]) is DType.FLOAT32:
        if function_of(graph, node) is not None:
            return Role.TABLE, ""
        if not all(np.isfinite(graph.constants[name]).all() for name in node.inputs if name in graph.constants):
            return Role.FLOAT, "a constant that is not finite"
    if role is Role.FLOAT:
        return role, ""
    if any(graph.types[name].is_counted for name in (*data, *node.outputs) if name):
        return Role.FLOAT, "only a run knows how many elements there are"
    types = [graph.types[name].dtype for name in [*data, *node.outputs] if name]
    if any(dtype is not DType.FLOAT32 for dtype in types) or not data:
        return Role.FLOAT, ""
    if role is Role.MATRIX and data == list(node.inputs) and is_pair(graph, node):
        role = Role.PAIR
    if role in (Role.MATRIX, Role.MOVE, Role.AVERAGE, Role.TABLE) and data != node.inputs[:1]:
        return Role.FLOAT, "weights or bias are not constant" if role is Role.MATRIX else "an operand besides the data is not constant"
    why = refusal(graph, node, role)
    if not why and role is Role.MATRIX and may_overflow(graph, node):
        why = "the integer accumulator could overflow"
    return (Role.FLOAT, why) if why else (role, "")


def refusal(graph: Graph, node: Node, role: Role) -> str:
    """Why no clause computes a node of this role, whatever its numbers are; "" when one does. Constants may be stored as integers."""
    if role is Role.MATRIX:
        return matrix_refusal(graph, node)
    if role is Role.PAIR:
        return pair_refusal(graph, node)
    if role is Role.SOFTMAX:
        return softmax_refusal(graph, node)
    if role is Role.NORM:
        return layer_norm_refusal(graph, node)
    if node.op == "ReduceMean" and not spatial_mean(graph, node):
        return "a mean over other axes than the spatial ones"
    if node.op == "MaxPool" and len([name for name in node.outputs if name]) > 1:
        return "MaxPool with indices"
    if node.op == "GlobalMaxPool" and len(graph.shape(node.inputs[0])) > 4:
        return "a window over more than two spatial axes"
    if role is Role.TABLE and function_of(graph, node) is None:
        return "its bounds are not two constant numbers"
    return ""


def matrix_refusal(graph: Graph, node: Node) -> str:
    """Why clause 4 cannot compute this Conv, ConvTranspose, Gemm or MatMul; "" when it can, as far as its numbers allow."""
    if len(node.inputs) < 2 or not all(is_known(graph, name) for name in node.inputs[1:] if name):
        return "weights or bias are not constant"
    attributes = node.attributes
    if node.op == "Gemm" and (attributes.get("transA", 0) or attributes.get("alpha", 1.0) != 1.0 or attributes.get("beta", 1.0) != 1.0):
        return "Gemm with transA, alpha or beta"
    weights = graph.types[node.inputs[1]].static_shape
    if node.op in ("Gemm", "MatMul") and len(weights) != 2:
        return "weights are not a matrix"
    bias = graph.types[node.input(2)].elements if node.input(2) else 1
    return "" if bias in (1, output_channels(node, weights) * bias_groups(node)) else "the bias is not one value per channel"


def may_overflow(graph: Graph, node: Node) -> bool:
    """Whether 8-bit weights of this shape, and a bias as large as their products, could leave int32."""
    weights = graph.types[node.inputs[1]]
    return 2 * (weights.elements // max(1, output_channels(node, weights.static_shape))) * 127 * 255 >= 2**31


def channel_axis(node: Node) -> int:
    """The axis of the weights that counts output channels."""
    if node.op == "Conv":
        return 0
    if node.op == "Gemm":
        return 0 if node.attributes.get("transB", 0) else 1
    return 1


def output_channels(node: Node, weights: Sequence[int]) -> int:
    """By the shape of the weights; those of one group of a ConvTranspose."""
    return int(weights[channel_axis(node)])


def bias_groups(node: Node) -> int:
    """How often the weights' channel axis repeats over the output channels: the groups of a ConvTranspose, else 1."""
    return int(node.attributes.get("group", 1)) if node.op == "ConvTranspose" else 1


def may_end_in_float(graph: Graph, node: Node) -> bool:
    """Whether clause 4 or 16 has a float result for this operator: not where each of several groups has one input channel."""
    groups, shape = int(node.attributes.get("group", 1)), graph.types[node.inputs[1]].static_shape
    return groups == 1 or (shape[0] // groups if node.op == "ConvTranspose" else shape[1]) > 1


def spatial_mean(graph: Graph, node: Node) -> bool:
    axes = graph.constant(node.input(1)) if node.input(1) else np.asarray(node.attributes.get("axes", []))
    rank = len(graph.shape(node.inputs[0]))
    if axes is None or rank < 3:
        return False
    return sorted(int(axis) % rank for axis in axes.ravel()) == list(range(2, rank))
