"""Clause 4: integer convolutions and matrix products, that end in codes, with a residual Add if there is one, or in float."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from edgec.integer.operators import DotProduct, Operand, Sum, Tail
from edgec.integer.tails import sole_reader
from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.kernels import (
    CONV_INT8_FUNCTION,
    DEPTHWISE_INT8_FUNCTION,
    ConvInt8,
    ConvInt8Any,
    ConvInt8Float,
    ConvInt8Function,
    DepthwiseInt8,
)
from edgec.kernels.convolution import panel_count
from edgec.kernels.depthwise import channel_blocks
from edgec.lower.builder import Lowering
from edgec.lower.coding import Parameters, limits
from edgec.lower.comment import quantization, tensor
from edgec.lower.convolution import labelled, pixel_input, pixel_output
from edgec.lower.layout import Pixels
from edgec.lower.product import Product, describe_product
from edgec.lower.quantized import Ending, codes_of, ending, finish, params_of
from edgec.lower.values import Value
from edgec.lower.wide_weights import narrowed
from edgec.program.arguments import LANES
from edgec.program.expr import const
from edgec.program.functions import FUNCTIONS
from edgec.program.program import Pointer


@dataclass(frozen=True)
class ConvolutionLayer:
    """One layer in integers: weights w - z_w and, per output channel, the bias and multiplier, canonically arranged."""

    weights: np.ndarray  # int32 [group][out][tap][in]
    bias: np.ndarray  # int64 [group][out]
    scale: np.ndarray  # float32 [group][out]; the multiplier of the sums; with a function, behind it that of what this gives
    narrow: bool  # whether fast kernels take it: the weights, and sums that times their scale fit 32 bits

    @property
    def dtype(self) -> DType:
        return DType.INT8 if self.narrow else DType.INT16


@dataclass(frozen=True)
class Residual:
    """An operator of clause 5 that the kernel computes after its own requantization, and its other operand."""

    decode: Node
    operator: Sum
    other: Operand
    value: Value
    pixels: Pixels
    own_scale: np.float32
    scale: np.float32


def dot_product(lowering: Lowering, operator: DotProduct) -> None:
    """Clause 4."""
    node, (source,) = operator.node, operator.operands
    product = describe_product(lowering.graph, node)
    assert product is not None
    if operator.tail is not None:
        product = product.spread()
    product, layer = _layer(operator, product)
    codes = pixel_input(lowering, product, node.inputs[0], codes_of(lowering, source))
    if operator.tail is None:
        name = node.outputs[0]
        lowering.define(name, _floats(lowering, operator, product, layer, codes))
    else:
        _codes(lowering, operator, product, layer, codes, operator.tail)


def float_codes(lowering: Lowering, operator: DotProduct, product: Product) -> Value:
    """The floats that an operator with 8-bit codes has before they become codes again."""
    (source,), (product, layer) = operator.operands, _layer(operator, product)
    codes = pixel_input(lowering, product, operator.node.inputs[0], codes_of(lowering, source))
    return _floats(lowering, operator, product, layer, codes)


def _layer(operator: DotProduct, product: Product) -> tuple[Product, ConvolutionLayer]:
    """And what the kernel multiplies."""
    arranged = product.arrange(operator.weights.steps)
    multipliers = product.vector(operator.multipliers).astype(np.float32)
    converts = operator.tail is None or operator.function is not None or _fits(operator, product, arranged, multipliers)
    if operator.behind is not None:
        multipliers = np.stack([multipliers, product.vector(operator.behind)])
    bias = product.vector(operator.bias)
    product, weights = narrowed(product, arranged) if converts else (product, arranged)
    return product, ConvolutionLayer(weights, bias, multipliers, converts)


def _fits(operator: DotProduct, product: Product, steps: np.ndarray, multipliers: np.ndarray) -> bool:
    """Whether no sum times its multiplier leaves 32 bits, with a bit to spare for a zero point and what rounding adds."""
    sums = np.abs(product.vector(operator.bias)) + np.abs(steps).sum(axis=(2, 3), dtype=np.int64) * operator.operands[0].grid.most
    return bool((sums * multipliers.astype(np.float64) < 2.0**30).all() or (multipliers < 1).all())


def _floats(lowering: Lowering, operator: DotProduct, product: Product, layer: ConvolutionLayer, x: tuple[Value, Pixels]) -> Value:
    """What the operator gives in float."""
    node, source = operator.node, params_of(lowering, operator.operands[0].grid)
    name = node.outputs[0]
    y, target = pixel_output(lowering, product, name, DType.FLOAT32)
    arguments = ConvInt8Float(
        product.window(x[0].shape, x[1].stride, target.stride), x[1].view.pointer, *_panels(lowering, node, layer, source),
        target.view.pointer, product.groups, product.in_channels, product.out_channels, source.zero,
    )  # fmt: skip
    line = quantization("x", float(source.scale), source.zero)
    lowering.template(arguments, name, labelled(y, [node]), product.macs(), _operands(product, layer, x[0]), (line,))
    return product.finish(y) if product.finish else y


def _codes(
    lowering: Lowering, operator: DotProduct, product: Product, layer: ConvolutionLayer, x: tuple[Value, Pixels], tail: Tail
) -> None:
    """The operator that ends in codes, and perhaps goes on with a residual."""
    source = params_of(lowering, operator.operands[0].grid)
    residual = _residual(lowering, tail, product) if layer.narrow and not product.depthwise and operator.function is None else None
    final = residual.operator.end if residual else tail
    y = pixel_output(lowering, product, final.name, lowering.activation)
    arguments = _arguments(lowering, operator, product, layer, x, y, tail, residual)
    nodes = [*operator.nodes, *(residual.operator.nodes if residual else ())]
    result = params_of(lowering, final.grid)
    line = f"{quantization('x', float(source.scale), source.zero)}   {quantization('y', float(result.scale), result.zero)}"
    lowering.template(arguments, final.name, labelled(y[0], nodes), product.macs(), _operands(product, layer, x[0]), (line,))
    if residual is not None:
        for done in (residual.decode, *residual.operator.nodes):
            lowering.absorb(done)
    finish(lowering, final, product.finish(y[0]) if product.finish else y[0])


def _operands(product: Product, layer: ConvolutionLayer, x: Value) -> str:
    """What is multiplied, for the comment."""
    shape = (layer.weights.shape[0] * layer.weights.shape[1], *product.kernel, layer.weights.shape[3])
    return f"{tensor(x.dtype, x.shape)} * {tensor(layer.dtype, tuple(const(size) for size in shape))}"


def _arguments(
    lowering: Lowering, operator: DotProduct, product: Product, layer: ConvolutionLayer, x: tuple[Value, Pixels], y: tuple[Value, Pixels],
    tail: Tail, residual: Residual | None,
) -> ConvInt8 | ConvInt8Any | ConvInt8Function | DepthwiseInt8:  # fmt: skip
    source, end = params_of(lowering, operator.operands[0].grid), ending(lowering, tail)
    window = product.window(x[0].shape, x[1].stride, y[1].stride)
    places = x[1].view.pointer, y[1].view.pointer
    bounds = source.zero, end.params.zero, end.low, end.high
    base = operator.node.inputs[1]
    if not layer.narrow:
        return ConvInt8Any(
            window, places[0], lowering.weights(base, layer.weights.astype(np.int16)),
            lowering.weights(f"{base}_bias", layer.bias.astype(np.int32)), lowering.weights(f"{base}_scale", layer.scale),
            places[1], product.groups, product.in_channels, product.out_channels, *bounds,
        )  # fmt: skip
    kind = operator.function.name if operator.function is not None else ""
    if product.depthwise:
        numbers = _numbers(operator, channel_blocks(product.groups))
        return (DEPTHWISE_INT8_FUNCTION[kind] if kind else DepthwiseInt8)(
            window, places[0], lowering.weights(base, layer.weights.astype(np.int8)),
            lowering.weights(f"{base}_bias", _folded_bias(layer, source)),
            lowering.weights(f"{base}_scale", layer.scale),
            places[1], product.groups, *bounds, 0.0 if kind else _rounding(lowering, layer, source, end), *numbers,
        )  # fmt: skip
    if kind:
        numbers = _numbers(operator, product.groups * panel_count(product.out_channels) * LANES)
        return CONV_INT8_FUNCTION[kind](
            window, places[0], *_panels(lowering, operator.node, layer, source), places[1],
            product.groups, product.in_channels, product.out_channels, *bounds, _largest_sum(lowering, layer), *numbers,
        )  # fmt: skip
    scales = (float(residual.own_scale), float(residual.scale)) if residual else (0.0, 0.0)
    sums = _sums(lowering, residual) if residual else (0, 0, *limits(lowering.activation))
    rounding = 0.0 if residual else _rounding(lowering, layer, source, end)
    return ConvInt8(
        window, places[0], *_panels(lowering, operator.node, layer, source), places[1],
        residual.pixels.view.pointer if residual else None, residual.pixels.stride if residual else 0,
        product.groups, product.in_channels, product.out_channels, *bounds, *scales, *sums, rounding, _largest_sum(lowering, layer),
    )  # fmt: skip


def _numbers(operator: DotProduct, apart: int) -> tuple[Any, ...]:
    """What a kernel takes for the function before the tail, if there is one: how far apart the multipliers of sums and of what the
    function gives are, alpha and beta."""
    function = operator.function
    given = FUNCTIONS[function.name].arguments(function.numbers) if function is not None else {}
    return (apart, *(float(given.get(name) or 0) for name in ("alpha", "beta"))) if function is not None else ()


def _sums(lowering: Lowering, residual: Residual) -> tuple[int, int, int, int]:
    """The residual's zero points and bounds."""
    end = ending(lowering, residual.operator.end)
    return params_of(lowering, residual.other.grid).zero, end.params.zero, end.low, end.high


def _folded_bias(layer: ConvolutionLayer, source: Parameters) -> np.ndarray:
    """The kernels multiply x, not x - zero: the difference is in the bias. int32 wraps, as the kernels' sums do."""
    folded: np.ndarray = layer.bias - source.zero * layer.weights.sum(axis=(2, 3), dtype=np.int64)
    return folded.astype(np.int32)


def _extremes(lowering: Lowering, layer: ConvolutionLayer) -> tuple[np.ndarray, np.ndarray]:
    """By channel, the least and the largest sum of codes by weights, whatever the codes."""
    least, most = limits(lowering.activation)
    above, below = (np.maximum(sign * layer.weights, 0).sum(axis=(2, 3), dtype=np.int64) for sign in (1, -1))
    return above * least - below * most, above * most - below * least


def _largest_sum(lowering: Lowering, layer: ConvolutionLayer) -> int:
    """The largest magnitude of a channel's sum of codes by weights, whatever the codes."""
    return int(max(np.abs(sums).max(initial=0) for sums in _extremes(lowering, layer)))


def _rounding(lowering: Lowering, layer: ConvolutionLayer, source: Parameters, end: Ending) -> float:
    """ConvInt8's number: numbers near 1.5 * 2^23 have no fraction bits, so the nearest one has an integer as its last bits, and the even
    one of two if the zero point is even. 0 where results have bounds of their own, or need more than 16 bits before them, or sums more than
    a float has."""
    zero, bias = end.params.zero, _folded_bias(layer, source)
    sums = np.max([np.abs(sums + bias) for sums in _extremes(lowering, layer)], axis=0)
    short = (sums * layer.scale).max(initial=0) < 2**15 - 2**8 and sums.max(initial=0) < 2**23 and layer.scale.max(initial=0) < 2.0**64
    short = short and zero % 2 == 0 and (end.low, end.high) == limits(lowering.activation)
    return 1.5 * 2**23 + zero if short else 0.0


def _panels(lowering: Lowering, node: Node, layer: ConvolutionLayer, source: Parameters) -> tuple[Pointer, Pointer, Pointer]:
    """Weights, bias and scales as ConvInt8 and ConvInt8Float read them."""
    base = node.inputs[1]
    return (
        lowering.weights(base, layer.weights.astype(np.int8)),
        lowering.weights(f"{base}_bias", _folded_bias(layer, source)),
        lowering.weights(f"{base}_scale", layer.scale),
    )


def _residual(lowering: Lowering, tail: Tail, product: Product) -> Residual | None:
    """The Add that alone reads the layer's result, when its other operand lies ready in the same pixels."""
    decode = sole_reader(lowering.graph, tail.name)
    add = sole_reader(lowering.graph, decode.outputs[0]) if decode is not None and decode.op == "DequantizeLinear" else None
    operator = lowering.matched.at.get(add) if add is not None else None
    if decode is None or product.finish is not None or not isinstance(operator, Sum) or operator.node is not add:
        return None
    own = operator.node.inputs.index(decode.outputs[0])
    mine, other = operator.operands[own], operator.operands[1 - own]
    value = lowering.values.get(other.name)
    if mine.grid != tail.grid or value is None or value.coded is None or value.shape != product.shape:
        return None
    found = product.pixels(value.coded.value, product.shape)
    if found is None:
        return None
    return Residual(decode, operator, other, value.coded.value, found, operator.multipliers[own], operator.multipliers[1 - own])
