"""Drawers of quantization: QDQ fragments and ONNX Runtime's quantized operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.graphs_draft import FLOAT, MICROSOFT, Draft
from tests.fuzz.graphs_pointwise import Drawer

CODES = (np.uint8, np.int8)


def parameters(d: Draft, dtype: Any, near: float = 0.05, count: tuple[int, ...] = ()) -> tuple[str, str]:
    """Scales and zero points, as constants; sometimes a power of two, so that results are ties."""
    scale = near * 2.0 ** d.g.uniform(-1, 1, count)
    if d.chance(0.3):
        scale = 2.0 ** np.round(np.log2(scale))
    info = np.iinfo(dtype)
    zero = np.full(count, d.pick(0, 0, info.min, info.max, (info.min + info.max + 1) // 2, d.number(info.min, info.max)))
    return d.const(scale, FLOAT), d.const(zero, dtype)


def quantize(d: Draft, op: str) -> None:
    """Mostly followed by its opposite; per axis now and then."""
    d.since(13)
    x, dtype = d.data(), d.pick(*CODES)
    per_axis = d.rank(x) > 0 and d.chance(0.15)
    axis = d.axis(x) if per_axis else 1
    scale, zero = parameters(d, dtype, count=(d.shape(x)[axis],) if per_axis else ())
    operands = (scale, *((zero,) if np.dtype(dtype) != np.uint8 or d.chance(0.8) else ()))
    named = {"axis": axis} if per_axis else {}
    codes = d.op(op, x, *operands, **named)
    if d.chance(0.8):
        d.op("DequantizeLinear", codes, *operands, **named)


def dequantize(d: Draft, op: str) -> None:
    d.since(13)
    if d.chance(0.75):
        d.pick(product, product, product, depthwise, pair, softmax, layer_norm, root_norm)(d)
        return
    kind = d.pick(*CODES, *CODES, np.int32)
    x = d.data((kind,))
    scale, zero = parameters(d, kind if kind is not np.int32 else np.int8)
    d.op(op, x, scale, *((zero,) if kind is not np.int32 and d.chance(0.8) else ()))


def product(d: Draft) -> None:
    """Of codes, which ends in float or in codes (docs/int8.md, clause 4), perhaps by a function: weights of any sign and zero point."""
    op = d.pick("Conv", "MatMul", "Gemm")
    x = codes(d, 4, 4, where=lambda s: min(s[2:]) >= 2) if op == "Conv" else codes(d, 2, 3 if op == "MatMul" else 2)
    count, inner = d.number(1, 6), d.shape(x)[1 if op == "Conv" else -1]
    groups = inner if op == "Conv" and d.chance(0.2) else 1
    count *= groups
    shape = (count, inner // groups, d.number(1, 2), d.number(1, 2)) if op == "Conv" else (inner, count)
    kind = d.pick(np.int8, np.int8, np.uint8)
    scale, zero = parameters(d, kind, 0.01, (count,) if d.chance(0.5) else ())
    if d.chance(0.6):
        zero = d.const(np.full(d.shape(zero), 0 if kind is np.int8 else 128), kind)
    axis = {"axis": 0 if op == "Conv" else 1} if d.rank(scale) else {}
    info = np.iinfo(kind)
    w = d.op("DequantizeLinear", d.const(d.g.integers(info.min, info.max, shape, endpoint=True), kind), scale, zero, **axis)
    bias = [d.numbers((count,))] if op != "MatMul" and d.chance(0.5) else []
    y = d.op(op, d.op("DequantizeLinear", *operand(d, x)), w, *bias, **({"group": groups} if op == "Conv" else {}))
    if d.chance(0.5):
        y = finished(d, y)
        y = apart(d, y, (count, *[1] * (d.rank(y) - 2)) if op == "Conv" else (count,)) if d.chance(0.4) else y
    if d.chance(0.5):
        return
    scale, zero = parameters(d, kind, 0.1)
    d.op("DequantizeLinear", d.op("QuantizeLinear", y, scale, zero), scale, zero)


def finished(d: Draft, y: str) -> str:
    """A function of a product's sums."""
    function, named, since = d.pick(
        ("Relu", {}, 6), ("HardSigmoid", {}, 6), ("LeakyRelu", {"alpha": 0.3}, 6), ("HardSwish", {}, 14), ("Sigmoid", {}, 6),
        ("Sigmoid", {}, 6), ("Gelu", {}, 20), ("Gelu", {"approximate": "tanh"}, 20),
    )  # fmt: skip
    result = d.op(function if d.opset >= since else "Relu", y, **(named if d.opset >= since else {}))
    return d.op("Mul", *((y, result) if d.chance(0.5) else (result, y))) if function == "Sigmoid" and d.chance(0.8) else result


def apart(d: Draft, y: str, shape: tuple[int, ...]) -> str:
    """Times a number for each channel: at times one that is no clause's, at times powers of two."""
    numbers = d.g.choice([0.25, 1.0, 2.0, 0.7, 1.9, *([0.0, -1.0] if d.chance(0.2) else [])], shape)
    factors = d.const(numbers.reshape(*[1] * d.number(0, d.rank(y) - len(shape)), *shape), FLOAT)
    return d.op("Mul", *((y, factors) if d.chance(0.5) else (factors, y)))


def depthwise(d: Draft) -> None:
    """A convolution by channel of codes with a scale for each channel, which another convolution makes, as NNCF writes it."""
    x = codes(d, 4, 4, where=lambda s: min(s[2:]) >= 2)
    count, kind = d.number(1, 6), d.pick(*CODES)
    w = d.op("DequantizeLinear", weights(d, (count, d.shape(x)[1], 1, 1)), d.const(0.01, FLOAT))
    y = d.op("Conv", d.op("DequantizeLinear", *operand(d, x)), w, *([d.numbers((count,))] if d.chance(0.5) else []))
    if d.chance(0.3):
        y = finished(d, y)
    elif d.chance(0.8):
        y = d.op("Relu", y) if d.chance(0.5) else d.op("Clip", y, d.const(d.pick(0, -3), FLOAT), d.const(6, FLOAT))
    scale, zero = parameters(d, kind, 0.02, (count,))
    if d.chance(0.2):
        info = np.iinfo(kind)
        zero = d.const([d.pick(info.min, 0) for _ in range(count)], kind)
    y = d.op("DequantizeLinear", d.op("QuantizeLinear", y, scale, zero, axis=1), scale, zero, axis=1)
    v = d.op("DequantizeLinear", weights(d, (count, 1, d.number(1, 2), d.number(1, 2))), d.const(0.02, FLOAT))
    y = d.op("Conv", y, v, group=count, pads=d.pick([0, 0, 0, 0], [1, 0, 0, 1]))
    if d.chance(0.8):
        coded(d, y, 0.1)


def weights(d: Draft, shape: tuple[int, ...]) -> str:
    return d.const(d.g.integers(-127, 128, shape), np.int8)


def pair(d: Draft) -> None:
    """The product of two computed matrices of codes (clause 16), which ends in codes or in float, perhaps scaled as scores are."""
    x = codes(d, 2, 4)
    inner = d.shape(x)[-1]
    batch = d.shape(x)[:-2] if d.chance(0.7) else ()
    other = d.input(d.pick(*CODES), (*batch, inner, d.number(1, 9)))
    y = d.op("MatMul", d.op("DequantizeLinear", *operand(d, x)), d.op("DequantizeLinear", *operand(d, other)))
    if d.chance(0.3):
        y = d.op(d.pick("Mul", "Div"), y, d.const(d.g.uniform(0.1, 8), FLOAT))
    if d.chance(0.7):
        coded(d, y, 0.1)


def softmax(d: Draft) -> None:
    """Between codes, mostly over the last axis (clause 17)."""
    x = codes(d, 1, 4, where=lambda shape: shape[-1] > 1)
    axis = -1 if d.chance(0.8) else d.axis(x)
    coded(d, d.op("Softmax", d.op("DequantizeLinear", *operand(d, x)), axis=axis), 1 / 255)


def layer_norm(d: Draft) -> None:
    """Between codes, mostly over the last axis (clause 18); epsilon counts or does not."""
    d.since(17)
    x = codes(d, 1, 4, where=lambda shape: shape[-1] > 1)
    axis = d.axis(x) if d.chance(0.2) else -1
    inner = d.shape(x)[axis % d.rank(x) :]
    bias = [d.numbers(inner)] if d.chance(0.7) else []
    y = d.op("LayerNormalization", d.op("DequantizeLinear", *operand(d, x)), d.numbers(inner), *bias, axis=axis, epsilon=d.pick(1e-5, 0.1))
    coded(d, y, 0.02)


def root_norm(d: Draft) -> None:
    """Between codes (clause 18), as an exporter writes it."""
    d.since(13)
    x = codes(d, 1, 4, where=lambda shape: shape[-1] > 1)
    real = d.op("DequantizeLinear", *operand(d, x))
    axes = {} if d.opset >= 18 else {"axes": [-1]}
    mean = d.op("ReduceMean", d.op("Mul", real, real), *([d.const([-1], np.int64)] if d.opset >= 18 else []), keepdims=1, **axes)
    total = d.op("Add", mean, d.const(d.pick(1e-5, 0.1), FLOAT))
    root = d.op("Sqrt", total)
    y = d.pick(lambda: d.op("Div", real, root), lambda: d.op("Mul", d.op("Reciprocal", root), real))()
    coded(d, d.op("Mul", y, d.numbers(d.shape(x)[-1:])), 0.02)


def dynamic(d: Draft, op: str) -> None:
    """Quantized by its own range, perhaps multiplied, as quantize_dynamic writes it."""
    d.since(11)
    x = d.data((FLOAT,), 2, 4)
    q, scale, zero = d.op(op, x, outputs=3)
    if d.chance(0.7):
        kind = d.pick(*CODES)
        image = d.rank(x) == 4
        window = (d.shape(x)[1], *(d.number(1, min(3, n)) for n in d.shape(x)[2:])) if image else ()
        shape = (d.number(1, 6), *window) if image else (d.shape(x)[-1], d.number(1, 6))
        info = np.iinfo(kind)
        w, step = d.const(d.g.integers(info.min, info.max, shape, endpoint=True), kind), d.const(0.01, FLOAT)
        less = d.const(d.pick(0, d.number(info.min, info.max)), kind)
        pads = {"pads": [d.number(0, 2) for _ in range(4)]} if image and d.chance(0.6) else {}
        y = d.op("ConvInteger" if image else "MatMulInteger", q, w, zero, less, **pads)
        d.op("Mul", d.op("Cast", y, to=1), d.op("Mul", scale, step))


def whole_product(d: Draft, op: str) -> None:
    """Zero points of all codes, known or not, of rows or columns, or none."""
    d.since(10)
    x = codes(d, 2, 3) if op == "MatMulInteger" else codes(d, 4, 4, where=lambda s: min(s[2:]) >= 2)
    count, kind = d.number(1, 5), d.pick(*CODES)
    info = np.iinfo(kind)
    shape = (d.shape(x)[-1], count) if op == "MatMulInteger" else (count, d.shape(x)[1], d.number(1, 2), d.number(1, 2))
    w = d.const(d.g.integers(info.min, info.max, shape, endpoint=True), kind)
    own = np.iinfo(d.dtype(x))
    zero = d.input(d.dtype(x), ()) if d.chance(0.5) else d.const(d.number(own.min, own.max), d.dtype(x))
    zeros = (zero, d.const(np.full(d.pick((), (count,)), d.pick(0, 3)), kind))
    d.op(op, x, w, *zeros[: d.number(0, 2)], **({"pads": [1, 0, 0, 1]} if op == "ConvInteger" and d.chance(0.5) else {}))


def coded(d: Draft, y: str, near: float) -> None:
    """Quantized and back, perhaps for a neighbour."""
    scale, zero = parameters(d, d.pick(*CODES), near)
    q = d.op("QuantizeLinear", y, scale, zero)
    if d.chance(0.8):
        d.op("DequantizeLinear", q, scale, zero)


def codes(d: Draft, low: int, high: int, **options: Any) -> str:
    return d.data(CODES, low, high, **options)


def operand(d: Draft, x: str) -> tuple[str, str, str]:
    return (x, *parameters(d, d.dtype(x)))


def matmul_bits(d: Draft, op: str) -> None:
    """Weights of 4 or 8 bits in blocks, of which the last may be ragged; sometimes so many that products read them as codes."""
    bits, block, inner, count = d.pick(4, 8), d.pick(16, 32), d.pick(5, 16, 40, 96), d.pick(1, 3, 8, 200)
    x = d.data((FLOAT,), 2, 3, where=lambda shape: shape[-1] == inner, make=lambda: (d.number(1, 4), inner))
    blocks = -(-inner // block)
    packed = d.const(d.g.integers(0, 256, (count, blocks, block * bits // 8)), np.uint8)
    scale = d.const(d.g.uniform(0.01, 0.1, (count, blocks)), FLOAT)
    zeros = [d.const(d.g.integers(0, 256, (count, -(-blocks * bits // 8))), np.uint8)] if d.chance(0.5) else []
    d.op(op, x, packed, scale, *zeros, domain=MICROSOFT, K=inner, N=count, bits=bits, block_size=block)


def qlinear_conv(d: Draft, op: str) -> None:
    x = codes(d, 4, 4, make=lambda: (1, d.number(1, 5), d.number(2, 6), d.number(2, 6)), where=lambda s: min(s[2:]) >= 2)
    outputs, channels = d.number(1, 6), d.shape(x)[1]
    w = d.const(d.g.integers(-127, 128, (outputs, channels, *(d.number(1, 2) for _ in range(2)))), np.int8)
    scale, zero = parameters(d, np.int8, 0.01, (outputs,) if d.chance(0.5) else ())
    flat = d.const(np.zeros(d.shape(zero)), np.int8)
    bias = (d.const(d.g.integers(-500, 500, outputs), np.int32),) if d.chance(0.5) else ()
    d.op(op, *operand(d, x), w, scale, flat, *parameters(d, d.dtype(x), 0.1), *bias)


def qlinear_matmul(d: Draft, op: str) -> None:
    x = codes(d, 2, 3)
    w = d.const(d.g.integers(-127, 128, (d.shape(x)[-1], d.number(1, 6))), np.int8)
    d.op(op, *operand(d, x), w, d.const(0.02, FLOAT), d.const(0, np.int8), *parameters(d, d.dtype(x), 0.1))


def qgemm(d: Draft, op: str) -> None:
    x = codes(d, 2, 2)
    w = d.const(d.g.integers(-127, 128, (d.shape(x)[-1], n := d.number(1, 6))), np.int8)
    bias = d.const(d.g.integers(-500, 500, n), np.int32) if d.chance(0.5) else ""
    d.op(op, *operand(d, x), w, d.const(0.02, FLOAT), d.const(0, np.int8), bias, *parameters(d, d.dtype(x), 0.1), domain=MICROSOFT)


def qlinear_binary(d: Draft, op: str) -> None:
    x = codes(d, 0, 4)
    y = d.partner(x)
    d.op(op, *operand(d, x), *operand(d, y), *parameters(d, d.dtype(x), 0.1), domain=MICROSOFT)


def qlinear_unary(d: Draft, op: str) -> None:
    x = codes(d, 0 if op != "QLinearSoftmax" else 1, 4)
    named: dict[str, dict[str, Any]] = {"QLinearLeakyRelu": {"alpha": 0.1}, "QLinearSoftmax": {"opset": 13, "axis": -1}}
    d.op(op, *operand(d, x), *parameters(d, d.dtype(x), 0.01), domain=MICROSOFT, **named.get(op, {}))


def qlinear_pool(d: Draft, op: str) -> None:
    x = codes(d, 4, 4)
    named = {"kernel_shape": [d.number(1, min(3, n)) for n in d.shape(x)[2:]]} if op == "QLinearAveragePool" else {}
    d.op(op, *operand(d, x), *parameters(d, d.dtype(x)), domain=MICROSOFT, **named)


def qlinear_concat(d: Draft, op: str) -> None:
    x = codes(d, 1, 4)
    axis, shape = d.number(0, d.rank(x) - 1), list(d.shape(x))
    shape[axis] = d.number(1, 4)
    other = d.input(d.dtype(x), shape)
    d.op(op, *parameters(d, d.dtype(x)), *operand(d, x), *operand(d, other), domain=MICROSOFT, axis=axis)


def qlinear_where(d: Draft, op: str) -> None:
    x = codes(d, 1, 4)
    condition = d.input(np.bool_, d.shape(x))
    d.op(op, condition, *operand(d, x), *operand(d, d.partner(x)), *parameters(d, d.dtype(x)), domain=MICROSOFT)


QUANTIZED: dict[str, Drawer] = {
    "QuantizeLinear": quantize, "DequantizeLinear": dequantize, "QLinearConv": qlinear_conv, "QLinearMatMul": qlinear_matmul,
    "MatMulNBits": matmul_bits, "QGemm": qgemm, "QLinearAdd": qlinear_binary, "QLinearMul": qlinear_binary, "QLinearSigmoid": qlinear_unary,
    "QLinearLeakyRelu": qlinear_unary,
    "QLinearSoftmax": qlinear_unary, "QLinearGlobalAveragePool": qlinear_pool, "QLinearAveragePool": qlinear_pool,
    "DynamicQuantizeLinear": dynamic, "MatMulInteger": whole_product, "ConvInteger": whole_product,
    "QLinearConcat": qlinear_concat, "QLinearWhere": qlinear_where,
}  # fmt: skip
