"""ONNX Runtime's own operators (com.microsoft), which its optimizer and exporters write: products, activations, normalizations."""

from __future__ import annotations

from dataclasses import replace

from edgec.base.errors import ModelError
from edgec.frontend.quantized.dynamic import dynamic_quantize_linear, matmul_integer
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value, operand
from edgec.frontend.translation.rules import MICROSOFT, rule
from edgec.frontend.translation.source import Source
from edgec.frontend.windows.window import conv
from edgec.ops.rules import axis_of

RUNTIMES = ("LayerNormalization", "SimplifiedLayerNormalization")  # that stand among ONNX's own, whatever the operator set


def optional(b: Builder, s: Source, index: int) -> Value | None:
    return operand(b, s, index) if s.input(index) else None


def plus(x: Value, *others: Value | None) -> Value:
    """The sum with those that are there."""
    for other in others:
        x = x if other is None else x + other
    return x


# activation of a fused operator -> (ONNX's operator, the names of its parameters)
ACTIVATIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Relu": ("Relu", ()), "Tanh": ("Tanh", ()), "Sigmoid": ("Sigmoid", ()), "LeakyRelu": ("LeakyRelu", ("alpha",)),
    "HardSigmoid": ("HardSigmoid", ("alpha", "beta")), "Elu": ("Elu", ("alpha",)),
}  # fmt: skip


def activated(x: Value, name: str, parameters: list[float]) -> Value:
    if not name:
        return x
    if name == "Clip" and len(parameters) == 2:
        return x.clipped(*parameters)
    if name not in ACTIVATIONS:
        raise ModelError(f"the activation {name} is not supported")
    op, names = ACTIVATIONS[name]
    return x.of(op, **dict(zip(names, parameters, strict=False)))


@rule("FusedConv", domain=MICROSOFT)
def fused_conv(b: Builder, s: Source) -> None:
    """inputs: x, w, bias, what is added before the activation"""
    result = b.fresh(f"{s.outputs[0]}_conv")
    attributes = {"group": 1, **{name: value for name, value in s.attributes.items() if not name.startswith("activation")}}
    conv(b, replace(s, op="Conv", inputs=s.inputs[:3], outputs=(result,), attributes=attributes))
    total = plus(Value(b, s, result), optional(b, s, 3))
    activated(total, s.get("activation", ""), s.get("activation_params", [])).end()


@rule("FusedGemm", domain=MICROSOFT)
def fused_gemm(b: Builder, s: Source) -> None:
    attributes = {name: value for name, value in s.attributes.items() if not name.startswith("activation")}
    (result,) = b.emit(s, "Gemm", s.inputs, attributes=attributes)
    given = [s.attributes[f"activation_{name}"] for name in ("alpha", "beta") if f"activation_{name}" in s.attributes]
    activated(Value(b, s, result), s.get("activation", ""), given).end()


@rule("FusedMatMul", "TransposeMatMul", domain=MICROSOFT)
def fused_matmul(b: Builder, s: Source) -> None:
    """alpha * a * b, each with its last two axes exchanged where that is asked for"""
    if s.get("transBatchA", 0) or s.get("transBatchB", 0):
        raise ModelError("with transposed batches is not supported", hint="transpose in a node of its own")
    sides = []
    for place, letter in enumerate("AB"):
        side = operand(b, s, place)
        rank = len(side.shape)
        turned = s.get(f"trans{letter}", 0) and rank > 1
        sides.append(side.turned(*range(rank - 2), rank - 1, rank - 2) if turned else side)
    product = sides[0].of("MatMul", sides[1])
    (product * s.get("alpha", 1.0) if s.get("alpha", 1.0) != 1 else product).end()


@rule("Gelu", domain=MICROSOFT)
def gelu(b: Builder, s: Source) -> None:
    operand(b, s, 0).of("Gelu", approximate="none").end()


@rule("BiasGelu", domain=MICROSOFT)
def bias_gelu(b: Builder, s: Source) -> None:
    plus(operand(b, s, 0), optional(b, s, 1)).of("Gelu", approximate="none").end()


@rule("FastGelu", domain=MICROSOFT)
def fast_gelu(b: Builder, s: Source) -> None:
    plus(operand(b, s, 0), optional(b, s, 1)).of("Gelu", approximate="tanh").end()


@rule("QuickGelu", domain=MICROSOFT)
def quick_gelu(b: Builder, s: Source) -> None:
    operand(b, s, 0).of("Swish", alpha=s.get("alpha", 1.702)).end()


@rule("BiasAdd", domain=MICROSOFT)
def bias_add(b: Builder, s: Source) -> None:
    plus(operand(b, s, 0), operand(b, s, 1), operand(b, s, 2)).end()


# Normalizations


def no_statistics(s: Source, *places: int) -> None:
    if any(len(s.outputs) > place and s.outputs[place] for place in places):
        raise ModelError("mean and deviation as outputs are not supported", hint="export the model for inference")


def layer_norm(x: Value, scale: Value, bias: Value | None, epsilon: float, axis: int = -1) -> Value:
    known = [scale] if bias is None else [scale, bias]
    return x.of("LayerNormalization", *known, axis=axis_of(axis, len(x.shape)), epsilon=epsilon)


def root_norm(x: Value, scale: Value, epsilon: float, axis: int = -1) -> Value:
    """x / sqrt(mean(x^2) + epsilon) * scale"""
    rank = len(x.shape)
    axes = x.constant(list(range(axis_of(axis, rank), rank)))
    return x * (1.0 / ((x * x).of("ReduceMean", axes, keepdims=1) + epsilon).of("Sqrt")) * scale


@rule("LayerNormalization", domain=MICROSOFT)
def contributed_layer_norm(b: Builder, s: Source) -> None:
    no_statistics(s, 1, 2)
    layer_norm(operand(b, s, 0), operand(b, s, 1), optional(b, s, 2), s.get("epsilon", 1e-5), s.get("axis", -1)).end()


@rule("SimplifiedLayerNormalization", domain=MICROSOFT)
@rule("SimplifiedLayerNormalization")
def simplified_layer_norm(b: Builder, s: Source) -> None:
    no_statistics(s, 1)
    root_norm(operand(b, s, 0), operand(b, s, 1), s.get("epsilon", 1e-5), s.get("axis", -1)).end()


@rule("SkipLayerNormalization", domain=MICROSOFT)
def skip_layer_norm(b: Builder, s: Source) -> None:
    """inputs: x, skip, scale, offset, bias; outputs: y, mean, deviation, x + skip + bias"""
    no_statistics(s, 1, 2)
    total = plus(operand(b, s, 0), operand(b, s, 1), optional(b, s, 4))
    layer_norm(total, operand(b, s, 2), optional(b, s, 3), s.get("epsilon", 1e-12)).end()
    if len(s.outputs) > 3 and s.outputs[3]:
        total.end(3)


@rule("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_simplified_layer_norm(b: Builder, s: Source) -> None:
    """inputs: x, skip, scale, bias; outputs: y, mean, deviation, x + skip + bias"""
    no_statistics(s, 1, 2)
    total = plus(operand(b, s, 0), operand(b, s, 1), optional(b, s, 3))
    root_norm(total, operand(b, s, 2), s.get("epsilon", 1e-12)).end()
    if len(s.outputs) > 3 and s.outputs[3]:
        total.end(3)


@rule("EmbedLayerNormalization", domain=MICROSOFT)
def embed_layer_norm(b: Builder, s: Source) -> None:
    """inputs: words, segments, three tables, scale, offset, mask, positions; outputs: y, lengths by the mask, the sum of the embeddings"""
    words, positions = operand(b, s, 0), optional(b, s, 8)
    places = positions if positions is not None else words.constant([list(range(words.shape[1]))])
    total = operand(b, s, 2).of("Gather", words, axis=0) + operand(b, s, 3).of("Gather", places, axis=0)
    if s.input(1):
        total = total + operand(b, s, 4).of("Gather", operand(b, s, 1), axis=0)
    layer_norm(total, operand(b, s, 5), operand(b, s, 6), s.get("epsilon", 1e-12)).end()
    if len(s.outputs) > 1 and s.outputs[1]:
        mask = optional(b, s, 7)
        (mask.summed(1).cast("int32") if mask is not None else words.constant([0] * words.shape[0], "int32")).end(1)
    if len(s.outputs) > 2 and s.outputs[2]:
        total.end(2)


# Products of codes


def whole_product(b: Builder, s: Source, inputs: list[str]) -> Value:
    """MatMulInteger's as numbers."""
    (name,) = (b.fresh(f"{s.outputs[0]}_whole"),)
    matmul_integer(b, replace(s, op="MatMulInteger", inputs=tuple(inputs), outputs=(name,)))
    return Value(b, s, name).cast("float32")


@rule("MatMulIntegerToFloat", domain=MICROSOFT)
def matmul_to_float(b: Builder, s: Source) -> None:
    """inputs: a, b, their scales, their zero points, bias"""
    product = whole_product(b, s, [s.inputs[0], s.inputs[1], s.input(4), s.input(5)])
    plus(product * (operand(b, s, 2) * operand(b, s, 3)), optional(b, s, 6)).end()


@rule("DynamicQuantizeMatMul", domain=MICROSOFT)
def dynamic_matmul(b: Builder, s: Source) -> None:
    """inputs: a, codes, their scale and zero point, bias"""
    codes, scale, zero = (b.fresh(f"{s.outputs[0]}_{what}") for what in ("codes", "scale", "zero"))
    dynamic_quantize_linear(b, replace(s, op="DynamicQuantizeLinear", inputs=s.inputs[:1], outputs=(codes, scale, zero)))
    product = whole_product(b, s, [codes, s.inputs[1], zero, s.input(3)])
    plus(product * (Value(b, s, scale) * operand(b, s, 2)), optional(b, s, 4)).end()
