"""Matrix products: one normal form, Gemm(x, w [N, K], b [N]) with transB = 1 and alpha = beta = 1; constant chains multiplied out."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.passes.codes import is_dense_weight
from edgec.passes.rewrite import (
    become,
    constant_operand,
    derived,
    emit,
    fixed_shape,
    integers,
    per_channel,
    rewrites,
    sole_producer,
    why_not,
)

NORMAL = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 1}


@rewrites("Add")
def matmul_add_to_gemm(graph: Graph, node: Node) -> bool:
    """matmul(x, w) + b -> gemm(x, w^T, b) for float constants w, a matrix, and b, by column; x of more axes is reshaped to rows and back.

    Where w is codes behind a DequantizeLinear: gemm(x, w, b).
    """
    operand = constant_operand(graph, node)
    product = sole_producer(graph, operand[0], "MatMul") if operand is not None else None
    if operand is None or product is None or not graph.dtype(node.outputs[0]).is_float:
        return False
    weight, shape = graph.constant(product.inputs[1]), fixed_shape(graph, product.inputs[0])
    is_matrix = is_dense_weight(graph, product.inputs[1]) if weight is None else weight.ndim == 2
    if not is_matrix or shape is None or len(shape) < 2 or 0 in shape:
        return why_not(node, "no product with a constant matrix, or of a symbolic shape")
    bias = per_channel(operand[1], graph.shape(operand[0]), -1)
    if bias is None or graph.types[operand[0]] != graph.types[node.outputs[0]]:
        return why_not(node, "the addend does not go by column")
    x, name, output = product.inputs[0], product.name or node.name, node.outputs[0]
    matrix = product.inputs[1] if weight is None else graph.add_constant(product.inputs[1], weight.T)
    attributes = {**NORMAL, "transB": int(weight is not None)}
    vector = graph.add_constant(node.inputs[operand[2]], bias.astype(graph.dtype(output).numpy))
    if len(shape) == 2:
        return become(graph, node, "Gemm", [x, matrix, vector], attributes, name=name)
    flat = integers(graph, f"{x}_shape", [prod(shape[:-1]), shape[-1]])
    rows = emit(graph, node, "Reshape", [x, flat], hint=f"{x}_rows", name=derived(name, "Reshape"))
    result = emit(graph, node, "Gemm", [rows, matrix, vector], attributes, hint=f"{output}_rows", name=name)
    return become(graph, node, "Reshape", [result, integers(graph, f"{output}_shape", [*shape[:-1], len(bias)])])


@rewrites("Gemm")
def add_computed_bias(graph: Graph, node: Node) -> bool:
    """gemm(x, w, c) -> gemm(x, w) + beta * c where c is computed and w is not: kernels have constants to begin with, or a sum to end with.

    A recurrent cell's step is one, of its input, with what its state gives as c.
    """
    bias, beta, output = node.input(2), node.attributes.get("beta", 1.0), node.outputs[0]
    if not bias or _is_stored(graph, bias) or not graph.dtype(output).is_float:
        return False
    if beta == 0 or not _is_stored(graph, node.inputs[1]):
        return why_not(node, "its weights are computed, or its bias does not count")
    if beta != 1:
        factor = graph.add_constant(f"{bias}_beta", np.asarray(beta, graph.dtype(output).numpy))
        bias = emit(graph, node, "Mul", [bias, factor], hint=f"{bias}_scaled", name=derived(node.name, "Mul"))
    attributes = {**node.attributes, "beta": 1.0}
    product = emit(graph, node, "Gemm", node.inputs[:2], attributes, hint=f"{output}_product", name=node.name)
    return become(graph, node, "Add", [product, bias], name=derived(node.name, "Add"))


def _is_stored(graph: Graph, value: str) -> bool:
    """Whether it is a constant, perhaps as codes."""
    source = graph.producer(value, "DequantizeLinear")
    return graph.constant(value if source is None else source.inputs[0]) is not None


@rewrites("Gemm")
def normalize_gemm(graph: Graph, node: Node) -> bool:
    """alpha * x' * w' + beta * b -> x * (alpha*w)^T + (beta*b), with w [N, K] and b [N] constants and transB = 1."""
    weight = graph.constant(node.inputs[1])
    alpha, beta = node.attributes.get("alpha", 1.0), node.attributes.get("beta", 1.0)
    trans_a, trans_b = node.attributes.get("transA", 0), node.attributes.get("transB", 0)
    if weight is None:
        return why_not(node, "its weights are computed")
    bias = graph.constant(node.inputs[2]) if node.input(2) else None
    if node.input(2) and bias is None and beta != 1:
        return why_not(node, "its bias is computed and scaled")
    vector = None if bias is None else per_channel(bias, graph.shape(node.outputs[0]), 1)
    plain = vector is None or (bias is not None and bias.ndim == 1 and bias.size == vector.size)
    if alpha == 1 and (beta == 1 or not node.input(2)) and not trans_a and trans_b and plain:
        return False
    scaled = weight if alpha == 1 else (weight.astype(np.float64) * alpha).astype(weight.dtype)
    if not np.isfinite(scaled).all():
        return why_not(node, "alpha times its weights overflows")
    inputs = node.inputs[:2]
    if trans_a:
        name = derived(node.name, "Transpose")
        inputs[0] = emit(graph, node, "Transpose", inputs[:1], {"perm": [1, 0]}, hint=f"{inputs[0]}_transposed", name=name)
    if alpha != 1 or not trans_b:
        inputs[1] = graph.add_constant(inputs[1], scaled if trans_b else scaled.T)
    if bias is not None:
        wide = bias.astype(np.float64) if vector is None else vector
        inputs.append(graph.add_constant(node.inputs[2], (wide * beta).astype(bias.dtype)))
    elif node.input(2):
        inputs.append(node.inputs[2])
    return become(graph, node, "Gemm", inputs, NORMAL)


@dataclass(frozen=True)
class Linear:
    """x * matrix + bias, with matrix [K, N] and bias [N] (zeros when the operator has none)."""

    x: str
    matrix: np.ndarray
    bias: np.ndarray
    has_bias: bool


@rewrites("MatMul", "Gemm")
def merge_linear_chain(graph: Graph, node: Node) -> bool:
    """(x*A + a)*B + b -> x*(A*B) + (a*B + b), when that takes fewer products: K*N < K*M + M*N by row."""
    second = _linear(graph, node)
    source = sole_producer(graph, node.inputs[0], "MatMul", "Gemm")
    first = _linear(graph, source) if source is not None else None
    if first is None or second is None or source is None or not graph.dtype(node.outputs[0]).is_float:
        return False
    (inner, middle), outer = first.matrix.shape, second.matrix.shape[1]
    if inner * outer >= inner * middle + middle * outer:
        return why_not(node, "the product of the constants would be larger than its factors")
    dtype = graph.dtype(node.outputs[0]).numpy
    matrix, bias = (first.matrix @ second.matrix).astype(dtype), (first.bias @ second.matrix + second.bias).astype(dtype)
    hint = node.inputs[1]
    if len(graph.shape(first.x)) == 2:
        inputs = [first.x, graph.add_constant(hint, matrix.T)]
        if first.has_bias or second.has_bias:
            inputs.append(graph.add_constant(f"{hint}_bias", bias))
        return become(graph, node, "Gemm", inputs, NORMAL)
    return become(graph, node, "MatMul", [first.x, graph.add_constant(hint, matrix)])


@rewrites("MatMul")
def merge_left_chain(graph: Graph, node: Node) -> bool:
    """A*(B*x) -> (A*B)*x for constant matrices, when that takes fewer products: N*K < N*M + M*K by column."""
    left = graph.constant(node.inputs[0])
    inner = sole_producer(graph, node.inputs[1], "MatMul")
    right = graph.constant(inner.inputs[0]) if inner is not None else None
    if inner is None or left is None or right is None or not graph.dtype(node.outputs[0]).is_float:
        return False
    if left.ndim != 2 or right.ndim != 2 or len(graph.shape(inner.inputs[1])) < 2:
        return False
    (rows, middle), columns = left.shape, right.shape[1]
    if rows * columns >= rows * middle + middle * columns:
        return why_not(node, "the product of the constants would be larger than its factors")
    product = (left.astype(np.float64) @ right.astype(np.float64)).astype(left.dtype)
    return become(graph, node, "MatMul", [graph.add_constant(node.inputs[0], product), inner.inputs[1]])


def _linear(graph: Graph, node: Node) -> Linear | None:
    """The node as x*matrix + bias in float64, when its weights and its bias are constants of that form."""
    weight = graph.constant(node.inputs[1])
    if weight is None or weight.ndim != 2 or len(graph.shape(node.inputs[0])) < 2 or node.attributes.get("transA", 0):
        return None
    matrix = weight.astype(np.float64) * node.attributes.get("alpha", 1.0)
    matrix = matrix.T if node.attributes.get("transB", 0) else matrix
    bias: np.ndarray | None = np.zeros(matrix.shape[1])
    if node.input(2):
        constant = graph.constant(node.inputs[2])
        bias = None if constant is None else per_channel(constant, graph.shape(node.outputs[0]), 1)
        bias = None if bias is None else bias * node.attributes.get("beta", 1.0)
    return None if bias is None else Linear(node.inputs[0], matrix, bias, bool(node.input(2)))
