"""Quantized operators of ONNX and ONNX Runtime, rewritten to DequantizeLinear -> operator -> QuantizeLinear."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.frontend.arithmetic.normalization import softmax
from edgec.frontend.quantized.linear import along, of_codes, to_codes
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value
from edgec.frontend.translation.rules import MICROSOFT, rule
from edgec.frontend.translation.source import Source
from edgec.frontend.windows.depth import convolve
from edgec.frontend.windows.window import auto_pad, extents, pool, window
from edgec.ops.rules import axis_of


def dequantize(b: Builder, s: Source, first: int, axis: int = 1) -> str:
    """The float value of the operand whose data, scale and zero point are the inputs `first`, `first` + 1 and `first` + 2.

    The zero point is made explicit, and of the scale's shape; parameters of one element become scalars. With computed parameters it is
    arithmetic.
    """
    names = [s.inputs[first + 1], s.input(first + 2)]
    if is_computed(b, *names):
        scale, zero = (along(b, s, name, s.inputs[first], axis) if name else "" for name in names)
        return of_codes(b, s, s.inputs[first], scale, zero)
    data, scale = s.inputs[first], b.scalar(s.inputs[first + 1])
    zero = b.scalar(s.input(first + 2)) if s.input(first + 2) else b.constant(f"{data}_zero_point", np.zeros((), stored(b, data)))
    if b.shape(scale) and not b.shape(zero):
        zero = spread(b, zero, b.shape(scale))
    return b.emit(s, "DequantizeLinear", [data, scale, zero], attributes={"axis": axis})[0]


def is_computed(b: Builder, *names: str) -> bool:
    return any(name and b.value(name) is None for name in names)


def stored(b: Builder, data: str) -> Any:
    return b.type(data).dtype.numpy


def spread(b: Builder, zero: str, shape: tuple[int, ...]) -> str:
    array = b.value(zero)
    if array is None:
        raise ModelError("a zero point that is computed while the model runs is not supported")
    return b.constant(f"{zero}_per_channel", np.broadcast_to(array, shape).copy())


def quantize(b: Builder, s: Source, value: str, scale: int, like: int) -> None:
    """The output of `s`; inputs `scale` and `scale` + 1 are its parameters. Without a zero point it has the type of input `like`."""
    zero = s.input(scale + 1)
    if is_computed(b, s.inputs[scale], zero):
        step, middle = (along(b, s, name, value, 1) if name else "" for name in (s.inputs[scale], zero))
        b.emit(s, "Identity", [to_codes(b, s, value, step, middle, b.file_type(zero or s.inputs[like]))], s.outputs)
        return
    zero = b.scalar(zero) if zero else b.constant(f"{s.outputs[0]}_zero_point", np.zeros((), stored(b, s.inputs[like])))
    b.emit(s, "QuantizeLinear", [value, b.scalar(s.inputs[scale]), zero], s.outputs, {"axis": 1})


def bias(b: Builder, s: Source, name: str, x_scale: str, w_scale: str) -> str:
    """An int32 bias at scale s_x * s_w, per channel when the weights are."""
    if not name:
        return ""
    first, second = b.value(x_scale), b.value(w_scale)
    if first is None or second is None:
        (real,) = b.emit(s, "Cast", [name], attributes={"to": "float32"})
        return b.emit(s, "Mul", [*b.emit(s, "Mul", [real, x_scale]), w_scale])[0]
    scale = b.constant(f"{name}_scale", (first.reshape(()) * (second.reshape(()) if second.size == 1 else second)).astype(np.float32))
    return b.emit(s, "DequantizeLinear", [name, scale], attributes={"axis": 0})[0]


@rule("QLinearConv")
def qlinear_conv(b: Builder, s: Source) -> None:
    """inputs: x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias"""
    data, weights = dequantize(b, s, 0), dequantize(b, s, 3, axis=0)
    shaped = Source(s.op, s.domain, s.version, (data, weights), s.outputs, s.name, s.attributes)
    found = window(b, shaped)
    auto_pad(shaped, extents(b, shaped), found)
    offsets = bias(b, s, s.input(8), s.inputs[1], s.inputs[4])
    result = convolve(Value(b, s, data), Value(b, s, weights), offsets, found, s.attributes["group"])
    quantize(b, s, result.name, 6, 0)


@rule("QLinearMatMul")
def qlinear_matmul(b: Builder, s: Source) -> None:
    """inputs: a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero"""
    first, second = dequantize(b, s, 0), dequantize(b, s, 3, axis_of(-1, b.rank(s.inputs[3])))
    quantize(b, s, b.emit(s, "MatMul", [first, second])[0], 6, 0)


@rule("QLinearAdd", "QLinearMul", domain=MICROSOFT)
def qlinear_binary(b: Builder, s: Source) -> None:
    """inputs: a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero"""
    operands = [dequantize(b, s, 0), dequantize(b, s, 3)]
    quantize(b, s, b.emit(s, s.op.removeprefix("QLinear"), operands)[0], 6, 0)


@rule("QLinearSigmoid", "QLinearLeakyRelu", domain=MICROSOFT)
def qlinear_unary(b: Builder, s: Source) -> None:
    """inputs: x, x_scale, x_zero, y_scale, y_zero"""
    attributes = {"alpha": s.get("alpha", 0.01)} if s.op == "QLinearLeakyRelu" else {}
    result = b.emit(s, s.op.removeprefix("QLinear"), [dequantize(b, s, 0)], attributes=attributes)
    quantize(b, s, result[0], 3, 0)


@rule("QLinearSoftmax", domain=MICROSOFT)
def qlinear_softmax(b: Builder, s: Source) -> None:
    """inputs: x, x_scale, x_zero, y_scale, y_zero; the attribute `opset` says which version of Softmax is meant"""
    version = s.get("opset", 1)
    attributes = {"axis": s.get("axis", -1 if version >= 13 else 1)}
    result = b.fresh(f"{s.outputs[0]}_softmax")
    softmax(b, Source("Softmax", "", version, (dequantize(b, s, 0),), (result,), s.name, attributes))
    quantize(b, s, result, 3, 0)


@rule("QLinearWhere", domain=MICROSOFT)
def qlinear_where(b: Builder, s: Source) -> None:
    """inputs: condition, x, x_scale, x_zero, y, y_scale, y_zero, z_scale, z_zero"""
    operands = [s.inputs[0], dequantize(b, s, 1), dequantize(b, s, 4)]
    quantize(b, s, b.emit(s, "Where", operands)[0], 7, 1)


@rule("QLinearGlobalAveragePool", "QLinearAveragePool", domain=MICROSOFT)
def qlinear_pool(b: Builder, s: Source) -> None:
    """inputs: x, x_scale, x_zero, y_scale, y_zero"""
    data, last = dequantize(b, s, 0), bool(s.get("channels_last", 0))
    rank = b.rank(data)
    if last:
        (data,) = b.emit(s, "Transpose", [data], attributes={"perm": [0, rank - 1, *range(1, rank - 1)]})
    if s.op == "QLinearAveragePool":
        result = [b.fresh(f"{s.outputs[0]}_pooled")]
        pool(
            b,
            Source("AveragePool", "", s.version, (data,), tuple(result), s.name, {**s.attributes, "auto_pad": s.get("auto_pad", "NOTSET")}),
        )
    else:
        result = b.emit(s, "GlobalAveragePool", [data])
    if last:
        result = b.emit(s, "Transpose", result, attributes={"perm": [0, *range(2, rank), 1]})
    quantize(b, s, result[0], 3, 0)


@rule("QLinearConcat", domain=MICROSOFT)
def qlinear_concat(b: Builder, s: Source) -> None:
    """inputs: y_scale, y_zero, then data, scale and zero of each part"""
    parts = [dequantize(b, s, start) for start in range(2, len(s.inputs), 3)]
    (result,) = b.emit(s, "Concat", parts, attributes={"axis": axis_of(s.attributes["axis"], b.rank(parts[0]))})
    quantize(b, s, result, 0, 2)


@rule("QGemm", domain=MICROSOFT)
def qgemm(b: Builder, s: Source) -> None:
    """inputs: a, a_scale, a_zero, b, b_scale, b_zero, bias, y_scale, y_zero; without y_scale the output is float"""
    transposed = s.get("transB", 0)
    first, second = dequantize(b, s, 0), dequantize(b, s, 3, 0 if transposed else 1)
    if s.get("alpha", 1.0) != 1.0:
        raise ModelError("alpha other than 1 is not supported")
    inputs = [first, second, bias(b, s, s.input(6), s.inputs[1], s.inputs[4])]
    attributes = {"transA": s.get("transA", 0), "transB": transposed}
    if s.input(7):
        quantize(b, s, b.emit(s, "Gemm", inputs, attributes=attributes)[0], 7, 0)
    else:
        b.emit(s, "Gemm", inputs, s.outputs, attributes)


@rule("MatMulNBits", domain=MICROSOFT)
def matmul_bits(b: Builder, s: Source) -> None:
    """inputs: a, codes [N, blocks of K, bytes], scales, zero points (the middle of the codes where absent), g_idx, bias"""
    bits, block, inputs, outputs = (int(s.attributes[name]) for name in ("bits", "block_size", "K", "N"))
    data, scale, zero = (b.value(name) if name else None for name in (s.inputs[1], s.inputs[2], s.input(3)))
    if data is None or scale is None or (s.input(3) and zero is None):
        raise ModelError("weights that are computed while the model runs are not supported")
    if bits not in (4, 8) or s.input(4) or (zero is not None and zero.dtype != np.uint8):
        raise ModelError("only weights of 4 or 8 bits with whole zero points, in their own order, are supported")
    blocks = -(-inputs // block)
    zeros = np.full((outputs, blocks), 1 << (bits - 1), np.uint8) if zero is None else unpacked(zero.reshape(outputs, -1), bits)[:, :blocks]
    spend_constant(outputs * inputs, s.where)
    codes = unpacked(data.reshape(outputs, -1), bits)[:, :inputs]
    operands = [
        b.constant(f"{s.inputs[1]}_codes", codes), b.constant(f"{s.inputs[2]}_blocks", scale.reshape(outputs, blocks)),
        b.constant(f"{s.outputs[0]}_zero_points", zeros),
    ]  # fmt: skip
    weights = b.emit(s, "DequantizeLinear", operands, attributes={"axis": 1, "block_size": block})
    product = [s.inputs[0], *b.emit(s, "Transpose", weights, attributes={"perm": [1, 0]})]
    if s.input(5):
        b.emit(s, "Add", [*b.emit(s, "MatMul", product), s.inputs[5]], s.outputs)
    else:
        b.emit(s, "MatMul", product, s.outputs)


def unpacked(data: np.ndarray, bits: int) -> np.ndarray:
    """Rows of bytes as rows of codes; the first of two is in the low half."""
    return data if bits == 8 else np.stack([data & 15, data >> 4], -1).reshape(len(data), -1)
