"""Products of rows with constant weights that stay codes: the RowsCodes8 and RowsCodes4 kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType
from edgec.kernels import RowsCodes4, RowsCodes8
from edgec.lower.builder import Lowering
from edgec.lower.comment import tensor
from edgec.lower.convolution import labelled, pixel_input, pixel_output
from edgec.lower.product import Product
from edgec.lower.tail import float_tail
from edgec.ops.quantize import MOST_CODED_ROWS
from edgec.program.expr import bound, const
from edgec.program.expr import product as extent


@dataclass(frozen=True)
class Codes:
    """Weights [out channel][in channel] as whole numbers: scale * (code + offset), these two [out channel][group of inputs]."""

    codes: np.ndarray
    scale: np.ndarray
    offset: np.ndarray
    group: int
    bits: int


def coded_product(lowering: Lowering, node: Node, product: Product, bias: np.ndarray) -> bool:
    """y = clamp(bias + sum x * w + residual) with w read as codes, where they save memory and time; False elsewhere."""
    rows = bound(extent(product.shape[:-1])) if product.is_rows else 0
    if not product.is_rows or rows > MOST_CODED_ROWS or lowering.target.gpu:
        return False
    found = codes_of(lowering.graph, node)
    if found is None:
        return False
    tail = float_tail(lowering, node, product)
    x, source = pixel_input(lowering, product, node.inputs[0], lowering.value(node.inputs[0]))
    y, target = pixel_output(lowering, product, tail.name, DType.FLOAT32)
    other = product.pixels(tail.residual, product.shape) if tail.residual is not None else None
    name = node.inputs[1]
    four = found.bits == 4
    arguments = (RowsCodes4 if four else RowsCodes8)(
        product.window(x.shape, source.stride, target.stride), source.view.pointer,
        lowering.weights(f"{name}_codes", found.codes.astype(np.int8)), lowering.weights(f"{name}_scale", found.scale.astype(np.float32)),
        lowering.weights(f"{name}_offset", found.offset.astype(np.float32)) if found.offset.any() else None,
        lowering.weights(node.input(2) or f"{node.outputs[0]}_bias", product.vector(bias)), target.view.pointer,
        other.view.pointer if other else None, other.stride if other else 0,
        product.in_channels, product.out_channels, found.group, tail.low, tail.high,
    )  # fmt: skip
    matrix = tensor(DType.INT8, tuple(const(size) for size in found.codes.shape))
    operands = f"{tensor(x.dtype, x.shape)} * {matrix} of {found.bits} bits, a scale for {found.group} inputs"
    lowering.template(arguments, tail.name, labelled(y, [node, *tail.nodes]), product.macs(), operands)
    lowering.define(tail.name, y)
    return True


def codes_of(graph: Graph, node: Node) -> Codes | None:
    """The codes behind the weights of a MatMul or Gemm; None where they are none, or each input has a scale of its own."""
    source = graph.producer(node.inputs[1], "DequantizeLinear")
    stored = graph.constant(source.inputs[0]) if source is not None else None
    if source is None or stored is None or stored.ndim != 2 or stored.dtype.itemsize != 1:
        return None
    transposed = bool(node.attributes.get("transB", 0)) if node.op == "Gemm" else False
    codes = (stored if transposed else stored.T).astype(np.int32)
    scale = graph.constants[source.inputs[1]]
    zero = graph.constants[source.inputs[2]] if source.input(2) else np.zeros(scale.shape, np.int32)
    axis, block = source.attributes.get("axis", 1) % 2, source.attributes.get("block_size", 0)
    along = axis == int(transposed)  # of inputs
    if (along and not block and scale.size > 1) or (block and not along):
        return None
    group = min(block, codes.shape[1]) if block else codes.shape[1]
    scales, zeros = (_by_group(array, len(codes), bool(block) and not transposed) for array in (scale, zero.astype(np.int32)))
    return _narrowed(codes, scales, zeros, group)


def _by_group(values: np.ndarray, outputs: int, turned: bool) -> np.ndarray:
    """[out channel][group]. turned: the groups come first."""
    if values.ndim == 2:
        return values.T if turned else values
    return np.broadcast_to(values.reshape(-1, 1), (outputs, 1))


def _narrowed(codes: np.ndarray, scale: np.ndarray, zero: np.ndarray, group: int) -> Codes:
    """In the fewest bits that hold them, and without an offset where that takes no more."""
    steps = codes - np.repeat(zero, group, 1)[:, : codes.shape[1]]
    base = int(codes.min()) + 8 if codes.max() - codes.min() <= 15 else int(codes.min()) + 128
    bits = 4 if codes.max() - codes.min() <= 15 or _fits(steps, 4) else 8
    if _fits(steps, bits):
        return Codes(steps, scale, np.zeros_like(scale), group, bits)
    return Codes(codes - base, scale, (base - zero).astype(np.float32), group, bits)


def _fits(numbers: np.ndarray, bits: int) -> bool:
    return bool(numbers.min() >= -(2 ** (bits - 1)) and numbers.max() < 2 ** (bits - 1))
