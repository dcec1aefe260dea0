"""Clause 15: convolutions and matrix products of codes of 16 bits, or that give such, by the kernels ConvInt16 and DepthwiseInt16."""

from __future__ import annotations

import numpy as np

from edgec.integer.dot_product import LIMIT, reach
from edgec.integer.operators import Tail, WideDotProduct
from edgec.integer.roles import bias_groups, channel_axis
from edgec.ir.types import DType
from edgec.kernels import ConvInt16, DepthwiseInt16
from edgec.lower.builder import Lowering
from edgec.lower.coding import settle
from edgec.lower.comment import quantization, tensor
from edgec.lower.convolution import labelled, pixel_input, pixel_output
from edgec.lower.convolution_int8 import float_codes
from edgec.lower.layout import Pixels
from edgec.lower.product import Product, describe_product
from edgec.lower.quantized import codes_of, ending, finish, held_type, params_of
from edgec.lower.values import Value
from edgec.program.expr import cast, const


def wide_dot_product(lowering: Lowering, operator: WideDotProduct) -> None:
    """Clause 15."""
    node, tail = operator.node, operator.tail
    product = describe_product(lowering.graph, node)
    assert product is not None
    if tail is not None and _is_small(operator, product):
        _settled(lowering, tail, float_codes(lowering, operator, product))
        return
    product = product.spread()
    x = pixel_input(lowering, product, node.inputs[0], _wide_codes(lowering, operator))
    name = tail.name if tail else node.outputs[0]
    y = pixel_output(lowering, product, name, held_type(lowering, tail.grid) if tail else DType.FLOAT32)
    weights = product.arrange(operator.weights.steps)
    arguments = _arguments(lowering, operator, product, weights, x, y)
    source = params_of(lowering, operator.operands[0].grid)
    line = quantization("x", float(source.scale), source.zero)
    if tail:
        result = params_of(lowering, tail.grid)
        line = f"{line}   {quantization('y', float(result.scale), result.zero)}"
    shape = (weights.shape[0] * weights.shape[1], *product.kernel, weights.shape[3])
    operands = f"{tensor(DType.INT16, x[0].shape)} * {tensor(DType.INT8, tuple(const(size) for size in shape))}"
    lowering.template(arguments, name, labelled(y[0], operator.nodes), product.macs(), operands, (line,))
    whole = product.finish(y[0]) if product.finish else y[0]
    if tail:
        finish(lowering, tail, whole)
    else:
        lowering.define(name, whole)


def _settled(lowering: Lowering, tail: Tail, steps: Value) -> None:
    """Codes of 16 bits from the floats that they are rounded from."""
    end = ending(lowering, tail)
    at = lambda index: settle(steps.at(index), end.low, end.high, end.params.zero, DType.INT16)  # noqa: E731
    codes = Value(DType.INT16, steps.shape, at, order=steps.order, splits=steps.splits)
    finish(lowering, tail, codes.by(steps, node=tail.nodes[-1].name, op="QuantizeLinear"))


def _is_small(operator: WideDotProduct, product: Product) -> bool:
    """Whether 8-bit codes are multiplied, whose sums int32 holds: the kernel that ends in float, which is faster, gives the same floats."""
    steps = operator.weights.steps
    sums = np.abs(operator.bias) + reach(steps, channel_axis(operator.node), bias_groups(operator.node)) * 255
    return operator.operands[0].grid.bits == 8 and not product.spread().depthwise and bool((sums < LIMIT).all())


def _wide_codes(lowering: Lowering, operator: WideDotProduct) -> Value:
    """The operand's codes; those of 8 bits as int16, which stand for the same."""
    codes = codes_of(lowering, operator.operands[0])
    if codes.dtype is DType.INT16:
        return codes
    wide = Value(DType.INT16, codes.shape, lambda index: cast(codes.at(index), DType.INT16), order=codes.order, splits=codes.splits)
    return wide.by(codes, op="Widen")


def _arguments(
    lowering: Lowering, operator: WideDotProduct, product: Product, weights: np.ndarray, x: tuple[Value, Pixels], y: tuple[Value, Pixels]
) -> ConvInt16 | DepthwiseInt16:  # fmt: skip
    zero, name = params_of(lowering, operator.operands[0].grid).zero, operator.node.inputs[1]
    end = ending(lowering, operator.tail) if operator.tail else None
    bounds = (zero, end.params.zero, end.low, end.high) if end else (zero, 0, 0, 0)
    window, size = product.window(x[0].shape, x[1].stride, y[1].stride), y[0].dtype.bytes
    bias, scale = product.vector(operator.bias), product.vector(operator.multipliers).astype(np.float32)
    if product.depthwise:
        return DepthwiseInt16(
            window, x[1].view.pointer, lowering.weights(name, weights.astype(np.int8)),
            lowering.weights(f"{name}_bias", bias.astype(np.float64)),
            lowering.weights(f"{name}_scale", scale), y[1].view.pointer, size, product.groups, *bounds,
        )  # fmt: skip
    folded = bias - zero * weights.sum(axis=(2, 3), dtype=np.int64)
    return ConvInt16(
        window, x[1].view.pointer, lowering.weights(name, weights.astype(np.int8)),
        lowering.weights(f"{name}_bias", folded.astype(np.float64)),
        lowering.weights(f"{name}_scale", scale), y[1].view.pointer, size,
        product.groups, product.in_channels, product.out_channels, *bounds,
    )  # fmt: skip
