"""Quantized operators of ONNX and ONNX Runtime, rewritten to DequantizeLinear -> operator -> QuantizeLinear."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgec.errors import ModelError
from edgec.frontend.arithmetic import scalar
from edgec.frontend.builder import Builder
from edgec.frontend.rules import rule
from edgec.frontend.source import Source
from edgec.frontend.window import auto_pad, extents, window
from edgec.ops.rules import axis_of

MICROSOFT = "com.microsoft"


def dequantize(b: Builder, s: Source, data: str, scale: str, zero: str, axis: int = 1) -> str:
    """A float value; the zero point is explicit, parameters of one element are scalars."""
    scale = scalar(b, s, scale)
    zero = scalar(b, s, zero) if zero else b.constant(f"{data}_zero_point", np.zeros(b.type(scale).static_shape, b.type(data).dtype.numpy))
    if b.shape(scale) and not b.shape(zero):
        zero = spread(b, zero, b.shape(scale))
    return b.emit(s, "DequantizeLinear", [data, scale, zero], attributes={"axis": axis})[0]


def spread(b: Builder, zero: str, shape: tuple[int, ...]) -> str:
    array = b.value(zero)
    if array is None:
        raise ModelError("a zero point that is computed while the model runs is not supported")
    return b.constant(f"{zero}_per_channel", np.broadcast_to(array, shape).copy())


def quantize(b: Builder, s: Source, value: str, scale: str, zero: str, dtype_of: str) -> None:
    """The output of `s`, of the zero point's type, or where that is absent, of `dtype_of`'s."""
    scale = scalar(b, s, scale)
    zero = scalar(b, s, zero) if zero else b.constant(f"{s.outputs[0]}_zero_point", np.zeros((), b.type(dtype_of).dtype.numpy))
    b.emit(s, "QuantizeLinear", [value, scale, zero], s.outputs, {"axis": 1})


def bias(b: Builder, s: Source, name: str, x_scale: str, w_scale: str) -> str:
    """An int32 bias at scale s_x * s_w, per channel when the weights are."""
    if not name:
        return ""
    first, second = b.value(x_scale), b.value(w_scale)
    if first is None or second is None:
        raise ModelError("scales that are computed while the model runs are not supported")
    scale = b.constant(f"{name}_scale", (first.reshape(()) * (second.reshape(()) if second.size == 1 else second)).astype(np.float32))
    return b.emit(s, "DequantizeLinear", [name, scale], attributes={"axis": 0})[0]


@rule("QLinearConv")
def qlinear_conv(b: Builder, s: Source) -> None:
    """inputs: x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias"""
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = s.inputs[:8]
    data, weights = dequantize(b, s, x, x_scale, x_zero), dequantize(b, s, w, w_scale, w_zero, 0)
    shaped = Source(s.op, s.domain, s.version, (data, weights), s.outputs, s.name, s.attributes)
    found = window(b, shaped)
    auto_pad(shaped, extents(b, shaped), found)
    inputs = [data, weights, bias(b, s, s.input(8), x_scale, w_scale)]
    (result,) = b.emit(s, "Conv", inputs, attributes={**found, "group": s.attributes["group"]})
    quantize(b, s, result, y_scale, y_zero, x)


@rule("QLinearMatMul")
def qlinear_matmul(b: Builder, s: Source) -> None:
    """inputs: a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero"""
    first = dequantize(b, s, *s.inputs[:3])
    second = dequantize(b, s, *s.inputs[3:6], axis_of(-1, b.rank(s.inputs[3])))
    quantize(b, s, *b.emit(s, "MatMul", [first, second]), s.inputs[6], s.input(7), s.inputs[0])


@rule("QLinearAdd", "QLinearMul", domain=MICROSOFT)
def qlinear_binary(b: Builder, s: Source) -> None:
    """inputs: a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero"""
    operands = [dequantize(b, s, *s.inputs[:3]), dequantize(b, s, *s.inputs[3:6])]
    quantize(b, s, *b.emit(s, s.op.removeprefix("QLinear"), operands), s.inputs[6], s.input(7), s.inputs[0])


@rule("QLinearSigmoid", "QLinearLeakyRelu", domain=MICROSOFT)
def qlinear_unary(b: Builder, s: Source) -> None:
    """inputs: x, x_scale, x_zero, y_scale, y_zero"""
    attributes = {"alpha": s.get("alpha", 0.01)} if s.op == "QLinearLeakyRelu" else {}
    result = b.emit(s, s.op.removeprefix("QLinear"), [dequantize(b, s, *s.inputs[:3])], attributes=attributes)
    quantize(b, s, *result, s.inputs[3], s.input(4), s.inputs[0])


@rule("QLinearGlobalAveragePool", "QLinearAveragePool", domain=MICROSOFT)
def qlinear_pool(b: Builder, s: Source) -> None:
    """inputs: x, x_scale, x_zero, y_scale, y_zero"""
    if s.get("channels_last", 0):
        raise ModelError("the channels_last form is not supported", hint="export with channels first")
    data = dequantize(b, s, *s.inputs[:3])
    attributes: dict[str, Any] = {}
    if s.op == "QLinearAveragePool":
        shaped = Source(s.op, s.domain, s.version, (data,), s.outputs, s.name, s.attributes)
        attributes = window(b, shaped)
        auto_pad(shaped, extents(b, shaped), attributes)
        attributes |= {"ceil_mode": s.get("ceil_mode", 0), "count_include_pad": s.get("count_include_pad", 0)}
    result = b.emit(s, s.op.removeprefix("QLinear"), [data], attributes=attributes)
    quantize(b, s, *result, s.inputs[3], s.input(4), s.inputs[0])


@rule("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(b: Builder, s: Source) -> None:
    """inputs: y_scale, y_zero, then data, scale and zero of each part"""
    parts = [dequantize(b, s, *s.inputs[start : start + 3]) for start in range(2, len(s.inputs), 3)]
    (result,) = b.emit(s, "Concat", parts, attributes={"axis": axis_of(s.attributes["axis"], b.rank(parts[0]))})
    quantize(b, s, result, s.inputs[0], s.inputs[1], s.inputs[2])


@rule("QGemm", domain=MICROSOFT)
def qgemm(b: Builder, s: Source) -> None:
    """inputs: a, a_scale, a_zero, b, b_scale, b_zero, bias, y_scale, y_zero; without y_scale the output is float"""
    transposed = s.get("transB", 0)
    first = dequantize(b, s, *s.inputs[:3])
    second = dequantize(b, s, *s.inputs[3:6], 0 if transposed else 1)
    if s.get("alpha", 1.0) != 1.0:
        raise ModelError("alpha other than 1 is not supported")
    inputs = [first, second, bias(b, s, s.input(6), s.inputs[1], s.inputs[4])]
    attributes = {"transA": s.get("transA", 0), "transB": transposed}
    if s.input(7):
        quantize(b, s, *b.emit(s, "Gemm", inputs, attributes=attributes), s.inputs[7], s.input(8), s.inputs[0])
    else:
        b.emit(s, "Gemm", inputs, s.outputs, attributes)
