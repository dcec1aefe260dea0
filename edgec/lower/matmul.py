"""Matrix products: with a constant matrix they are products of product.py, else of two computed ones, as a kernel or plain loop nests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.lower import movement
from edgec.lower.batches import broadcast
from edgec.lower.builder import Lowering, Unsupported
from edgec.lower.codes import coded_product
from edgec.lower.convolution import float_product
from edgec.lower.movement import broadcast_index
from edgec.lower.product import describe_product
from edgec.lower.product_float import has_kernel, pair_of_floats
from edgec.lower.reduction import Reduction, reduce_to
from edgec.lower.values import Index, Value, elements, is_one, row_major
from edgec.program.expr import Expr, bound, const, real

FEW_ROWS, FEW_TURNED = 2, 4  # of the first operand; the second one by rows, or by columns


def product_node(lowering: Lowering, node: Node) -> None:
    """Conv, ConvTranspose, Gemm, MatMul of floats: float kernels, with codes as weights or floats, else loops."""
    form = describe_product(lowering.graph, node)
    weights = lowering.value(node.inputs[1]).constant
    bias = lowering.value(node.inputs[2]).constant if node.input(2) else None
    whole = lowering.graph.dtype(node.inputs[0]) in (DType.INT32, DType.INT64)
    if whole and node.op == "MatMul":
        _computed(lowering, node)
        return
    if lowering.graph.dtype(node.inputs[0]) is not DType.FLOAT32:
        raise Unsupported(f"{node.op} of {lowering.graph.dtype(node.inputs[0]).value}", "float32 and 8-bit codes are supported")
    if form is not None and weights is not None and (bias is not None or not node.input(2)):
        channels = weights.shape[1] * node.attributes["group"] if node.op == "ConvTranspose" else form.groups * form.out_channels
        offsets = _vector(bias, channels)
        if offsets is not None and not (node.op == "Gemm" and node.attributes["transA"]):
            alpha, beta = (node.attributes["alpha"], node.attributes["beta"]) if node.op == "Gemm" else (1.0, 1.0)
            offsets = _times(offsets, beta, "beta")
            if alpha != 1 or not coded_product(lowering, node, form, offsets):
                float_product(lowering, node, form, _times(weights, alpha, "alpha"), offsets)
            return
    if node.op in ("Conv", "ConvTranspose"):
        raise Unsupported(f"{node.op} with computed weights or over three spatial axes", "make weights constants; use up to two axes")
    _computed(lowering, node)


def _times(constant: np.ndarray, factor: float, name: str) -> np.ndarray:
    """Unsupported where finite numbers become infinite."""
    with np.errstate(all="ignore"):
        product = constant * np.float32(factor)
    if not np.isfinite(product[np.isfinite(constant)]).all():
        raise Unsupported(f"{name} {factor:g} times a constant beyond float32", f"multiply by {name} in a node of its own")
    return np.asarray(product)


def _vector(bias: np.ndarray | None, channels: int) -> np.ndarray | None:
    """A bias with one value per output channel, None when it is a matrix."""
    if bias is None:
        return np.zeros(channels, np.float32)
    if bias.size not in (1, channels) or (bias.ndim and bias.shape[-1] != bias.size):
        return None
    return np.broadcast_to(bias.reshape(-1), (channels,)).astype(np.float32)


def _computed(lowering: Lowering, node: Node) -> None:
    """a[..., m, k] * b[..., k, n] for every batch, then Gemm's alpha and beta * c."""
    a, b = (lowering.value(name) for name in node.inputs[:2])
    gemm = node.op == "Gemm"
    if gemm and node.attributes["transA"]:
        a = movement.transpose(a, (1, 0))
    if gemm and node.attributes["transB"]:
        b = movement.transpose(b, (1, 0))
    left = a if a.rank > 1 else movement.reshape(a, (const(1), *a.shape))
    right = b if b.rank > 1 else movement.reshape(b, (*b.shape, const(1)))
    result = _way(lowering, left, right)(lowering, node, left, right)
    final = movement.reshape(result, lowering.shape(node.outputs[0]))
    if gemm and (node.attributes["alpha"] != 1 or node.input(2)):
        final = _affine(lowering, node, final)
    lowering.define(node.outputs[0], final)


def _way(lowering: Lowering, left: Value, right: Value) -> Callable[[Lowering, Node, Value, Value], Value]:
    """By a kernel that packs its second operand, unless few rows multiply that: loops are quick over what lies side by side, either way."""
    if left.dtype is not DType.FLOAT32:
        return _loops
    if not has_kernel(lowering, left.shape[:-2], right.shape[:-2]):
        return _loops
    turned = _is_turned(right)
    if bound(left.shape[-2]) > (FEW_TURNED if turned else FEW_ROWS):
        return pair_of_floats
    if right.view is not None and not turned and right.view.strides[-1] != const(1):
        return pair_of_floats
    return partial(_loops, lanes=turned)


def _is_turned(value: Value) -> bool:
    """Whether columns, not rows, lie side by side in memory, or will when it is there."""
    if is_one(value.shape[-1]) or value.view is None:
        return is_one(value.shape[-1]) or (value.order or row_major(value.rank))[-1] == value.rank - 2
    return value.view.strides[-2] == const(1)


def _loops(lowering: Lowering, node: Node, left: Value, right: Value, *, lanes: bool = False) -> Value:
    """As a reduction over axis k of the (never built) tensor [..., m, k, n] of products, with running totals in memory.

    lanes: one total after the other, where rows of k lie side by side.
    """
    a, b = (value if value.free else lowering.materialize(value, name) for value, name in zip((left, right), node.inputs, strict=False))
    lead = broadcast(a.shape[:-2], b.shape[:-2])
    shape = (*lead, a.shape[-2], a.shape[-1], b.shape[-1])
    rank = len(shape)

    def at(index: Index) -> Expr:
        batch, (m, k, n) = index[:-3], index[-3:]
        first = a.at((*broadcast_index(batch, a.shape[:-2]), m, k))
        return first * b.at((*broadcast_index(batch, b.shape[:-2]), k, n))

    products = Value(a.dtype, shape, at)
    rule = Reduction(const(0, a.dtype), lambda total, x: total + x, lanes=lanes)
    about = products.by(node=node.name, op=node.op)
    summed = reduce_to(lowering, products, [rank - 2], rule, a.dtype, f"{node.outputs[0]}_sums", about, elements(shape))
    return movement.reshape(summed, (*shape[:-2], shape[-1]))


def _affine(lowering: Lowering, node: Node, value: Value) -> Value:
    """alpha * value + beta * c."""
    alpha, beta = real(node.attributes["alpha"]), real(node.attributes["beta"])
    c = lowering.value(node.inputs[2]) if node.input(2) else None

    def at(index: Index) -> Expr:
        scaled = value.at(index) if node.attributes["alpha"] == 1 else alpha * value.at(index)
        if c is None:
            return scaled
        offset = c.at(broadcast_index(index, c.shape))
        return scaled + (offset if node.attributes["beta"] == 1 else beta * offset)

    return Value(value.dtype, value.shape, at, order=value.order).by(value, node=node.name, op=node.op)
