"""Clause 4: integer convolutions and matrix products, with the requantization and a residual Add in the kernel's epilogue."""

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
from edgec.program.kernels import ConvInt8, ConvInt8Any, DepthwiseInt8


@dataclass(frozen=True)
class Layer:
    """One layer in integers: weights w - z_w and, per output channel, the bias and multiplier, canonically arranged."""

    weights: np.ndarray  # int32 [group][out][tap][in]
    bias: np.ndarray  # int64 [group][out]
    scale: np.ndarray  # float32 [group][out]


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
    if source is None or x.coded is None or end is None:
        return False
    layer = _layer(lowering, node, product, source, end.params)
    if layer is None:
        return False
    fits = pack.fits_int8_kernels(layer.weights)
    residual = _residual(lowering, end, product) if fits and not product.depthwise else None
    name = residual.end.name if residual else end.name
    codes = pixel_input(lowering, product, node.inputs[0], x.coded.value)
    y = pixel_output(lowering, product, name, lowering.activation)
    arguments = _arguments(lowering, node, product, layer, codes, y, source, end, residual)
    nodes = [node, *end.nodes[:-1], *(residual.nodes if residual else ())]
    shape = (layer.weights.shape[0] * layer.weights.shape[1], *product.kernel, layer.weights.shape[3])
    operands = f"{tensor(codes[0].dtype, codes[0].shape)} * {tensor(DType.INT8 if fits else DType.INT16, tuple(const(s) for s in shape))}"
    final = residual.end if residual else end
    line = f"{quantization('x', float(source.scale), source.zero)}   {quantization('y', float(final.params.scale), final.params.zero)}"
    lowering.template(arguments, name, labelled(y[0], nodes), product.macs(), operands, (line,))
    for done in (*end.nodes, *(residual.nodes if residual else ())):
        lowering.absorb(done)
    finish(lowering, final, product.finish(y[0]) if product.finish else y[0])
    return True


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
    # the kernels multiply x, not x - zero: the difference is in the bias; int32 wraps, as the kernels' sums do
    bias = (layer.bias - source.zero * layer.weights.sum(axis=(2, 3), dtype=np.int64)).astype(np.int32)
    if product.depthwise:
        return DepthwiseInt8(
            window, places[0], lowering.pointer(base, pack.pack_depthwise(layer.weights.astype(np.int8))),
            lowering.pointer(f"{base}_bias", pack.pack_channels(bias)),
            lowering.pointer(f"{base}_scale", pack.pack_channels(layer.scale)),
            places[1], product.groups, *bounds,
        )  # fmt: skip
    low, high = limits(lowering.activation)
    other = (residual.pixels.view.pointer, residual.pixels.stride) if residual else (None, 0)
    scales = (float(residual.own_scale), float(residual.scale)) if residual else (0.0, 0.0)
    sums = (residual.zero, residual.end.params.zero, residual.end.low, residual.end.high) if residual else (0, 0, low, high)
    return ConvInt8(
        window, places[0], lowering.pointer(base, pack.pack_int8(layer.weights, lowering.target.k_multiple)),
        lowering.pointer(f"{base}_bias", pack.pack_panels(bias)), lowering.pointer(f"{base}_scale", pack.pack_panels(layer.scale)),
        places[1], other[0], other[1], product.groups, product.in_channels, product.out_channels, *bounds, *scales, *sums,
    )  # fmt: skip


# The layer's integers


def _layer(lowering: Lowering, node: Node, product: Product, source: Params, result: Params) -> Layer | None:
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
        multipliers = (np.float32(source.scale) * scales).astype(np.float32) / np.float32(result.scale)
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
