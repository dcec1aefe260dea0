"""Clause 4: integer convolutions and matrix products, that end in codes, with a residual Add if there is one, or in float."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.lower import pack
from edgec.lower.builder import Lowering
from edgec.lower.coding import Params, limits
from edgec.lower.comment import quantization, tensor
from edgec.lower.convolution import labelled, pixel_input, pixel_output
from edgec.lower.layout import Pixels
from edgec.lower.product import Product
from edgec.lower.quantized import Ending, along, coded_params, ending, finish, parameters, ratio, usable
from edgec.lower.tail import sole_reader
from edgec.lower.values import Value
from edgec.program.expr import const
from edgec.program.kernels import ConvInt8, ConvInt8Any, ConvInt8Float, DepthwiseInt8
from edgec.program.program import Pointer


@dataclass(frozen=True)
class Layer:
    """One layer in integers: weights w - z_w and, per output channel, the bias and multiplier, canonically arranged."""

    weights: np.ndarray  # int32 [group][out][tap][in]
    bias: np.ndarray  # int64 [group][out]
    scale: np.ndarray  # float32 [group][out]; the multiplier of the sums


@dataclass(frozen=True)
class Residual:
    """An Add of clause 5 that the kernel computes after its own requantization."""

    value: Value
    pixels: Pixels
    own_scale: np.float32
    scale: np.float32
    zero: int
    end: Ending
    nodes: tuple[Node, ...]


def int8_product(lowering: Lowering, node: Node, product: Product) -> bool:
    """Lower `node` by clause 4; False when it does not match, so that it stays in float."""
    x = lowering.value(node.inputs[0])
    source, end = coded_params(x), ending(lowering, node.outputs[0])
    if source is None or x.coded is None:
        return False
    layer = _layer(lowering, node, product, source, end.params if end else None)
    if layer is None or (end is None and not _ends_in_float(product, layer)):
        return False
    codes = pixel_input(lowering, product, node.inputs[0], x.coded.value)
    if end is None:
        _floats(lowering, node, product, layer, codes, source)
    else:
        _codes(lowering, node, product, layer, codes, source, end)
    return True


def _ends_in_float(product: Product, layer: Layer) -> bool:
    return pack.fits_int8_kernels(layer.weights) and not (product.groups > 1 and product.in_channels == 1)


def _floats(lowering: Lowering, node: Node, product: Product, layer: Layer, x: tuple[Value, Pixels], source: Params) -> None:
    """The pattern that ends in float: no QuantizeLinear takes the result alone."""
    name = node.outputs[0]
    y, target = pixel_output(lowering, product, name, DType.FLOAT32)
    arguments = ConvInt8Float(
        product.window(x[0].shape, x[1].stride, target.stride), x[1].view.pointer, *_panels(lowering, node, layer, source),
        target.view.pointer, product.groups, product.in_channels, product.out_channels, source.zero,
    )  # fmt: skip
    line = quantization("x", float(source.scale), source.zero)
    lowering.template(arguments, name, labelled(y, [node]), product.macs(), _operands(product, layer, x[0]), (line,))
    lowering.define(name, product.finish(y) if product.finish else y)


def _codes(lowering: Lowering, node: Node, product: Product, layer: Layer, x: tuple[Value, Pixels], source: Params, end: Ending) -> None:
    """The pattern that ends in a QuantizeLinear, and perhaps goes on with a residual."""
    residual = _residual(lowering, end, product) if pack.fits_int8_kernels(layer.weights) and not product.depthwise else None
    final = residual.end if residual else end
    y = pixel_output(lowering, product, final.name, lowering.activation)
    arguments = _arguments(lowering, node, product, layer, x, y, source, end, residual)
    nodes = [node, *end.nodes[:-1], *(residual.nodes if residual else ())]
    line = f"{quantization('x', float(source.scale), source.zero)}   {quantization('y', float(final.params.scale), final.params.zero)}"
    lowering.template(arguments, final.name, labelled(y[0], nodes), product.macs(), _operands(product, layer, x[0]), (line,))
    for done in (*end.nodes, *(residual.nodes if residual else ())):
        lowering.absorb(done)
    finish(lowering, final, product.finish(y[0]) if product.finish else y[0])


def _operands(product: Product, layer: Layer, x: Value) -> str:
    """What is multiplied, for the comment."""
    shape = (layer.weights.shape[0] * layer.weights.shape[1], *product.kernel, layer.weights.shape[3])
    kind = DType.INT8 if pack.fits_int8_kernels(layer.weights) else DType.INT16
    return f"{tensor(x.dtype, x.shape)} * {tensor(kind, tuple(const(size) for size in shape))}"


def _arguments(
    lowering: Lowering, node: Node, product: Product, layer: Layer, x: tuple[Value, Pixels], y: tuple[Value, Pixels],
    source: Params, end: Ending, residual: Residual | None,
) -> ConvInt8 | ConvInt8Any | DepthwiseInt8:  # fmt: skip
    window = product.window(x[0].shape, x[1].stride, y[1].stride)
    places = x[1].view.pointer, y[1].view.pointer
    bounds = source.zero, end.params.zero, end.low, end.high
    base = node.inputs[1]
    if not pack.fits_int8_kernels(layer.weights):
        return ConvInt8Any(
            window, places[0], lowering.pointer(base, pack.pack_any(layer.weights)),
            lowering.pointer(f"{base}_bias", layer.bias.astype(np.int32)), lowering.pointer(f"{base}_scale", layer.scale),
            places[1], product.groups, product.in_channels, product.out_channels, *bounds,
        )  # fmt: skip
    if product.depthwise:
        return DepthwiseInt8(
            window, places[0], lowering.pointer(base, pack.pack_depthwise(layer.weights.astype(np.int8))),
            lowering.pointer(f"{base}_bias", pack.pack_channels(_folded_bias(layer, source))),
            lowering.pointer(f"{base}_scale", pack.pack_channels(layer.scale)),
            places[1], product.groups, *bounds,
        )  # fmt: skip
    low, high = limits(lowering.activation)
    other = (residual.pixels.view.pointer, residual.pixels.stride) if residual else (None, 0)
    scales = (float(residual.own_scale), float(residual.scale)) if residual else (0.0, 0.0)
    sums = (residual.zero, residual.end.params.zero, residual.end.low, residual.end.high) if residual else (0, 0, low, high)
    return ConvInt8(
        window, places[0], *_panels(lowering, node, layer, source), places[1], other[0], other[1],
        product.groups, product.in_channels, product.out_channels, *bounds, *scales, *sums,
    )  # fmt: skip


def _folded_bias(layer: Layer, source: Params) -> np.ndarray:
    """The kernels multiply x, not x - zero: the difference is in the bias. int32 wraps, as the kernels' sums do."""
    folded: np.ndarray = layer.bias - source.zero * layer.weights.sum(axis=(2, 3), dtype=np.int64)
    return folded.astype(np.int32)


def _panels(lowering: Lowering, node: Node, layer: Layer, source: Params) -> tuple[Pointer, Pointer, Pointer]:
    """Weights, bias and scales as ConvInt8 and ConvInt8Float read them."""
    base = node.inputs[1]
    return (
        lowering.pointer(base, pack.pack_int8(layer.weights, lowering.target.k_multiple)),
        lowering.pointer(f"{base}_bias", pack.pack_panels(_folded_bias(layer, source))),
        lowering.pointer(f"{base}_scale", pack.pack_panels(layer.scale)),
    )


# The layer's integers


def _layer(lowering: Lowering, node: Node, product: Product, source: Params, result: Params | None) -> Layer | None:
    """None when the weights are not 8-bit constants with one scale per output channel, or the sums could leave int32."""
    graph = lowering.graph
    if node.op == "Gemm" and (node.attributes["transA"] or node.attributes["alpha"] != 1 or node.attributes["beta"] != 1):
        return None
    found = _weights(lowering, node)
    if found is None:
        return None
    weights, scale = found
    channels = graph.types[node.outputs[0]].static_shape[-1 if product.is_rows else 1]
    scales = np.tile(np.broadcast_to(scale, (channels // _copies(node),)), _copies(node)).astype(np.float32)
    bias = _bias(lowering, node, source, scales)
    with np.errstate(over="ignore"):
        steps = (np.float32(source.scale) * scales).astype(np.float32)
        multipliers = steps / np.float32(result.scale) if result else steps
    if bias is None or not usable(*multipliers):
        return None
    arranged, offsets = product.arrange(weights), product.vector(bias)
    if (np.abs(offsets) + np.abs(arranged).sum(axis=(2, 3), dtype=np.int64) * 255 >= 2**31).any():
        return None
    return Layer(arranged, offsets, product.vector(multipliers.astype(np.float32)).astype(np.float32))


def _copies(node: Node) -> int:
    """How often the scales of the weights repeat over the output channels: ConvTranspose has one set for all groups."""
    return int(node.attributes["group"]) if node.op == "ConvTranspose" else 1


def _weights(lowering: Lowering, node: Node) -> tuple[np.ndarray, np.ndarray] | None:
    """(w - z_w as int32, scale of one group's output channels or a single one)."""
    graph = lowering.graph
    source = graph.producer(node.inputs[1], "DequantizeLinear")
    codes = graph.constant(source.inputs[0]) if source is not None else None
    if source is None or codes is None or codes.dtype.itemsize != 1:
        return None
    scale = graph.constants[source.inputs[1]]
    zero = graph.constants[source.inputs[2]] if source.input(2) else np.zeros_like(scale, np.int32)
    channel = {"Conv": 0, "ConvTranspose": 1}.get(node.op, 0 if node.attributes.get("transB") else 1)
    if scale.size > 1 and source.attributes.get("axis", 1) % codes.ndim != channel:
        return None
    return codes.astype(np.int32) - along(zero.astype(np.int32), codes.ndim, source), scale.reshape(-1)


def _bias(lowering: Lowering, node: Node, source: Params, scales: np.ndarray) -> np.ndarray | None:
    """Integers at the scales source * scales."""
    name = node.input(2)
    if not name:
        return np.zeros(scales.size, np.int64)
    codes = _sum_codes(lowering, name, source, scales)
    if codes is not None:
        return codes
    value = lowering.value(name).constant
    if value is None or value.size not in (1, scales.size) or (value.ndim and value.shape[-1] != value.size):
        return None
    if not np.isfinite(value).all():
        return None
    step = Fraction(float(source.scale))
    numbers = np.broadcast_to(value.reshape(-1), (scales.size,))
    whole = [round(Fraction(float(b)) / (step * Fraction(float(s)))) for b, s in zip(numbers, scales, strict=True)]
    return np.array(whole, object).astype(np.int64)


def _sum_codes(lowering: Lowering, name: str, source: Params, scales: np.ndarray) -> np.ndarray | None:
    """The codes of a bias whose own scale is fl32(s_x * s_w) and whose zero point is 0: they are the integers themselves."""
    graph = lowering.graph
    node = graph.producer(name, "DequantizeLinear")
    codes = graph.constant(node.inputs[0]) if node is not None else None
    if node is None or codes is None or codes.dtype != np.int32 or codes.size != scales.size:
        return None
    scale = graph.constants[node.inputs[1]]
    zero = graph.constants[node.inputs[2]] if node.input(2) else np.zeros(1)
    wanted = (np.float32(source.scale) * scales).astype(np.float32)
    same = scale.size in (1, scales.size) and bool(np.array_equal(np.broadcast_to(scale.reshape(-1), wanted.shape), wanted))
    return codes.astype(np.int64).reshape(-1) if same and not zero.any() else None


# The residual


def _residual(lowering: Lowering, end: Ending, product: Product) -> Residual | None:
    """The Add that alone reads the layer's result, when its other operand lies ready in the same pixels."""
    graph = lowering.graph
    decode = sole_reader(graph, end.name)
    if product.finish is not None or decode is None or decode.op != "DequantizeLinear":
        return None
    if not _decodes(lowering, decode, end):
        return None
    add = sole_reader(graph, decode.outputs[0])
    if add is None or add.op not in ("Add", "Sub") or len(add.inputs) != 2:
        return None
    own = add.inputs.index(decode.outputs[0])
    other = lowering.values.get(add.inputs[1 - own])
    params, final = coded_params(other), ending(lowering, add.outputs[0])
    if other is None or other.coded is None or params is None or final is None or other.shape != product.shape:
        return None
    found = product.pixels(other.coded.value, product.shape)
    scales = [ratio(end.params.scale, final.params.scale), ratio(params.scale, final.params.scale)]
    if found is None or not usable(*scales):
        return None
    if add.op == "Sub":  # the second operand's multiplier is negative; scales[0] is this layer's, scales[1] the other's
        subtrahend = 1 if own == 0 else 0
        scales[subtrahend] = -scales[subtrahend]
    return Residual(other.coded.value, found, scales[0], scales[1], params.zero, final, (decode, add, *final.nodes))


def _decodes(lowering: Lowering, decode: Node, end: Ending) -> bool:
    """Whether a DequantizeLinear has the parameters of the QuantizeLinear before it."""
    found = parameters(lowering, decode)
    return found is not None and found[0] == end.params
