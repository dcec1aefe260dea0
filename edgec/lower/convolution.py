"""Float convolutions and matrix products with constant weights: the ConvFloat and DepthwiseFloat kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.kernels import ConvFloat, DepthwiseFloat
from edgec.kernels.matrix_int8 import input_multiple
from edgec.lower.builder import Lowering
from edgec.lower.comment import tensor
from edgec.lower.destination import slices
from edgec.lower.layout import Pixels
from edgec.lower.placed import placed_operand, placed_result, surely_placed
from edgec.lower.product import Product
from edgec.lower.tail import Tail, float_tail
from edgec.lower.values import Value
from edgec.program.expr import const
from edgec.program.program import Kind


def float_product(lowering: Lowering, node: Node, product: Product, weights: np.ndarray, bias: np.ndarray) -> None:
    """y = clamp(bias + sum x * w + residual); weights and bias as the ONNX node has them."""
    product = product.spread()
    tail = float_tail(lowering, node, product)
    x, source = pixel_input(lowering, product, node.inputs[0], lowering.value(node.inputs[0]))
    y, target = pixel_output(lowering, product, tail.name, DType.FLOAT32)
    about = labelled(y, [node, *tail.nodes])
    matrix, offsets = product.arrange(weights.astype(np.float32, copy=False)), product.vector(bias.astype(np.float32, copy=False))
    arguments = _arguments(lowering, node, product, tail, (x, source), (y, target), matrix, offsets)
    shape = (matrix.shape[0] * matrix.shape[1], *product.kernel, matrix.shape[3])
    operands = f"{tensor(x.dtype, x.shape)} * {tensor(DType.FLOAT32, tuple(const(size) for size in shape))}"
    lowering.template(arguments, tail.name, about, product.macs(), operands)
    lowering.define(tail.name, product.finish(y) if product.finish else y)


def _arguments(
    lowering: Lowering, node: Node, product: Product, tail: Tail,
    source: tuple[Value, Pixels], target: tuple[Value, Pixels], weights: np.ndarray, bias: np.ndarray,
) -> ConvFloat | DepthwiseFloat:  # fmt: skip
    (x, pixels), (_, result) = source, target
    window = product.window(x.shape, pixels.stride, result.stride)
    names = node.inputs[1], node.inputs[2] if len(node.inputs) > 2 and node.inputs[2] else f"{node.outputs[0]}_bias"
    if product.depthwise:
        return DepthwiseFloat(
            window, pixels.view.pointer, lowering.weights(names[0], weights),
            lowering.weights(names[1], bias), result.view.pointer, product.groups, tail.low, tail.high,
        )  # fmt: skip
    other = product.pixels(tail.residual, product.shape) if tail.residual is not None else None
    return ConvFloat(
        window, pixels.view.pointer, lowering.weights(names[0], weights),
        lowering.weights(names[1], bias), result.view.pointer,
        other.view.pointer if other else None, other.stride if other else 0,
        product.groups, product.in_channels, product.out_channels, tail.low, tail.high,
    )  # fmt: skip


def labelled(value: Value, nodes: Sequence[Node]) -> Value:
    """`value` as the subject of a comment: computed by `nodes`."""
    about = value
    for node in nodes:
        if node.op not in ("QuantizeLinear", "DequantizeLinear"):
            about = about.by(about, node=node.name, op=node.op)
    return about


def pixel_input(lowering: Lowering, product: Product, name: str, value: Value) -> tuple[Value, Pixels]:
    """What the product reads of `value` as pixels in memory, copied there when it lies otherwise; `name` then keeps the copy of `value`."""
    if product.read is not None:
        once = value if value.free else lowering.materialize(value, name, product.order_of(value.rank))
        lowering.keep(name, value, once)
        value = _side_by_side(lowering, f"{name}_copies", product.read(lowering, once), product)
    return placed_operand(lowering, name, value, product.is_rows, partial(_readable, lowering, product, value))


def _side_by_side(lowering: Lowering, name: str, parts: list[Value], product: Product) -> Value:
    """One tensor of the channels of all parts."""
    axis, first = product.channel_axis % parts[0].rank, parts[0]
    counts = [part.shape[axis] for part in parts]
    shape = tuple(sum(counts[1:], counts[0]) if d == axis else size for d, size in enumerate(first.shape))
    whole = lowering.dense(name, first.dtype, shape, product.order_of(first.rank))
    starts = [sum(counts[:place], const(0)) for place in range(len(parts))]
    for part, place in zip(parts, slices(whole, axis, starts), strict=True):
        lowering.materialize(part, name, into=place)
    return whole


def _readable(lowering: Lowering, product: Product, value: Value, found: Pixels) -> bool:
    """8-bit kernels read past a pixel's last channel, which only the arena tolerates."""
    if value.dtype != lowering.activation or product.depthwise:
        return True
    whole = product.in_channels % input_multiple(lowering.target.vocabularies) == 0
    return whole or lowering.program.buffers[found.view.buffer].kind == Kind.ARENA


def pixel_output(lowering: Lowering, product: Product, name: str, dtype: DType) -> tuple[Value, Pixels]:
    """Memory for the result."""
    if product.finish is not None:
        return surely_placed(lowering.dense(f"{name}_blocks", dtype, product.shape, product.order), product.is_rows)
    return placed_result(lowering, name, dtype, product.shape, product.is_rows)
