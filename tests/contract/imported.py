"""Models that come quantized: by ONNX Runtime's own quantizer, and made by hand to be as nasty as the format allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import onnx
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

from edgec.frontend import from_proto
from tests.contract.subjects import SEED, Net, quantized_net, samples_of
from tests.nets import MODELS
from tests.oracle.models import Builder, random_q

Vectors = list[dict[str, np.ndarray]]
S8, U8, S16 = QuantType.QInt8, QuantType.QUInt8, QuantType.QInt16


@dataclass(frozen=True)
class Recipe:
    """How ONNX Runtime's quantizer is told to quantize a net."""

    family: str
    format: QuantFormat
    activations: QuantType
    weights: QuantType
    per_channel: bool

    @property
    def name(self) -> str:
        kinds = {S8: "s8", U8: "u8", S16: "s16"}
        form = "qdq" if self.format is QuantFormat.QDQ else "qoperator"
        return f"{self.family}_{form}_{kinds[self.activations]}{kinds[self.weights]}_{'channel' if self.per_channel else 'tensor'}"


QDQ, QOPERATOR = QuantFormat.QDQ, QuantFormat.QOperator
RECIPES = (
    Recipe("mobilenet", QDQ, U8, S8, True),
    Recipe("squeezenet", QOPERATOR, U8, U8, False),
    Recipe("mobilenet", QOPERATOR, U8, S8, True),
    Recipe("squeezenet", QDQ, S8, S8, False),
    Recipe("resnet", QDQ, S16, S8, True),
    Recipe("unet", QDQ, U8, U8, False),
    Recipe("yolox", QOPERATOR, U8, S8, False),
    Recipe("resnet", QDQ, U8, U8, True),
    Recipe("yolox", QDQ, S8, S8, True),
)


class _Samples(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, samples: Vectors) -> None:
        self._left: Iterator[dict[str, np.ndarray]] = iter(samples)

    def get_next(self) -> dict[str, np.ndarray] | None:
        return next(self._left, None)


def quantized_by_onnxruntime(recipe: Recipe, folder: Any) -> onnx.ModelProto:
    model = MODELS[recipe.family](SEED)
    source, result = folder / "float.onnx", folder / "int8.onnx"
    onnx.save(model, source)
    quantize_static(
        source, result, _Samples(samples_of(from_proto(model).graph)), quant_format=recipe.format, per_channel=recipe.per_channel,
        activation_type=recipe.activations, weight_type=recipe.weights,
    )  # fmt: skip
    return onnx.load(result)


def rough_inputs(shape: tuple[int, ...]) -> Vectors:
    """Ordinary numbers; numbers, NaN, infinities and halves mixed; everything at the bottom, so that codes are their smallest."""
    generator = np.random.default_rng(5)
    special = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 1.5, 3e38, -3e38, 1e-42], np.float32)
    mixed = np.where(generator.random(shape) < 0.4, generator.choice(special, shape), generator.standard_normal(shape) * 20)
    return [
        {"x": (generator.standard_normal(shape) * 3).astype(np.float32)},
        {"x": mixed.astype(np.float32)},
        {"x": np.full(shape, -np.inf, np.float32)},
        {"x": np.round(generator.standard_normal(shape) * 40).astype(np.float32) / 2},
    ]


def _rows(generator: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Weights with the extremes everywhere: -128 in pairs and rows for s8, 0 and 255 for u8, random codes between."""
    info = np.iinfo(dtype)
    weights = random_q(generator, shape, dtype)
    return np.where(generator.random(shape) < 0.5, np.array(info.min, dtype), weights)


class Quantizing(Builder):
    """A builder of quantized graphs; `zero` of all activations unless another is given."""

    def __init__(self, zero: np.ndarray) -> None:
        super().__init__()
        self.zero, self.outputs = zero, dict[str, Any]()

    def quantized(self, value: str, scale: float, zero: np.ndarray | None = None) -> str:
        """QuantizeLinear, then DequantizeLinear."""
        zero = self.zero if zero is None else zero
        return self.dequantize(self.quantize(value, scale, zero), scale, zero)

    def give(self, name: str, value: str) -> None:
        """Let `value` be the output `name`."""
        self.nodes.append(onnx.helper.make_node("Identity", [value], [name]))
        self.outputs[name] = np.float32

    def finish(self, shape: tuple[int, ...]) -> onnx.ModelProto:
        return self.model({"x": np.zeros(shape, np.float32)}, self.outputs)


def extreme_weights(activations: Any) -> tuple[onnx.ModelProto, Vectors]:
    """Convolutions whose weights hold -128 everywhere, with zero points of every kind, on activations of all codes."""
    generator = np.random.default_rng(11)
    bottom = np.iinfo(activations).min
    b = Quantizing(np.array(bottom + 128, activations))
    x = b.quantized("x", 0.05, np.array(bottom + 100, activations))
    zeros: dict[str, tuple[Any, Callable[[int], np.ndarray]]] = {
        "s8": (np.int8, lambda n: np.array(0, np.int8)),
        "s8_zero": (np.int8, lambda n: np.array(-128, np.int8)),
        "s8_zeros": (np.int8, lambda n: random_q(generator, (n,), np.int8)),
        "u8": (np.uint8, lambda n: np.array(0, np.uint8)),
        "u8_zero": (np.uint8, lambda n: np.array(128, np.uint8)),
        "u8_zeros": (np.uint8, lambda n: random_q(generator, (n,), np.uint8)),
    }
    for kind, (dtype, zero_of) in zeros.items():
        for shape, attributes in (((18, 6, 3, 3), {"pads": [1] * 4}), ((6, 1, 3, 3), {"pads": [1] * 4, "group": 6}), ((17, 6, 1, 1), {})):
            zero = zero_of(shape[0])
            scale = np.float32(2e-3) if zero.ndim == 0 else generator.uniform(1e-3, 3e-3, shape[0]).astype(np.float32)
            weights = b.dequantize(b.const(_rows(generator, shape, dtype)), scale, zero, axis=0)
            b.give(f"{kind}_{shape[0]}", b.quantized(b.op("Conv", x, weights, **attributes), 0.4))
    shape = (1, 6, 9, 11)
    return b.finish(shape), rough_inputs(shape)


def ties(activations: Any) -> tuple[onnx.ModelProto, Vectors]:
    """Scales are powers of two, so that about half of all results lie exactly between two codes."""
    generator = np.random.default_rng(12)
    b = Quantizing(np.array(3 if activations is np.uint8 else -5, activations))
    other = np.array(1 + int(b.zero), activations)
    x, finer = b.quantized("x", 1.0), b.quantized(b.op("Abs", "x"), 0.5, other)
    weights = b.dequantize(b.const(random_q(generator, (8, 4, 3, 3), np.int8) // 16), 0.5, np.int8(0))
    bias = b.dequantize(b.const(generator.integers(-9, 9, 8).astype(np.int32)), 0.5, np.int32(0))
    dense = b.dequantize(b.const(random_q(generator, (4 * 5 * 7, 10), np.int8)), 0.25, np.int8(0))
    b.give("conv", b.quantized(b.op("Conv", x, weights, bias, pads=[1] * 4), 4.0))
    b.give("dense", b.quantized(b.op("MatMul", b.op("Flatten", x), dense), 64.0))
    b.give("average", b.quantized(b.op("AveragePool", x, kernel_shape=[2, 2], strides=[1, 1]), 1.0, other))
    b.give("mean", b.quantized(b.op("GlobalAveragePool", x), 0.0625))
    b.give("sum", b.quantized(b.op("Add", x, finer), 1.0))
    b.give("difference", b.quantized(b.op("Sub", finer, x), 1.0, other))
    b.give("product", b.quantized(b.op("Mul", x, finer), 16.0))
    b.give("joined", b.quantized(b.op("Concat", x, finer, axis=1), 2.0))
    b.give("largest", b.quantized(b.op("MaxPool", finer, kernel_shape=[3, 3], pads=[1] * 4), 1.0, other))
    b.give("positive", b.quantized(b.op("Relu", finer), 1.0))
    shape = (1, 4, 5, 7)
    return b.finish(shape), rough_inputs(shape)


def floats(activations: Any) -> tuple[onnx.ModelProto, Vectors]:
    """Products that end in float: alone, and with a normalization, a sum and codes behind them, with tails of panels and of rows."""
    generator = np.random.default_rng(13)
    b = Quantizing(np.array(np.iinfo(activations).min + 117, activations))

    def product(op: str, x: str, *shape: int, **attributes: Any) -> str:
        scale = 2.0 ** generator.uniform(-12, -8, shape[0 if op == "Conv" else 1])
        zero, axis = np.zeros(scale.shape, np.int8), 0 if op == "Conv" else 1
        weights = b.dequantize(b.const(random_q(generator, shape, np.int8).clip(-127)), scale, zero, axis=axis)
        bias = b.const(generator.standard_normal(shape[0]), np.float32)
        return b.op(op, x, weights, *([bias] if op == "Conv" else []), **attributes)

    x = b.quantized("x", 0.05)
    image = product("Conv", x, 21, 3, 3, 3, pads=[1] * 4)
    b.give("image", image)
    b.give("groups", product("Conv", b.quantized(b.op("Relu", image), 0.03), 33, 7, 1, 2, group=3))
    rows = product("MatMul", b.op("Reshape", x, b.const([5, 21])), 21, 35)
    b.give("rows", rows)
    stream = b.op("Add", rows, product("MatMul", b.quantized(rows, 0.04), 35, 35))
    ones = b.const(np.linspace(0.5, 1.5, 35), np.float32)
    b.give("stream", b.quantized(b.op("LayerNormalization", stream, ones, axis=-1), 0.02))
    shape = (1, 3, 5, 7)
    return b.finish(shape), rough_inputs(shape)


def wide(activations: Any) -> tuple[onnx.ModelProto, Vectors]:
    """Codes of 16 bits at the ends of their range: sums beyond int32, all shapes of products, all endings, what follows in float."""
    generator = np.random.default_rng(17)
    info = np.iinfo(activations)
    b, narrow = Quantizing(np.array(info.min + 20_000, activations)), np.array(131, np.uint8)

    def product(op: str, x: str, *shape: int, bias: int = 0, **attributes: Any) -> str:
        axis = 0 if op == "Conv" else 1
        scale = generator.uniform(2.0**-15, 2.0**-13, shape[axis])
        weights = b.dequantize(b.const(_rows(generator, shape, np.int8)), scale, np.zeros(scale.shape, np.int8), axis=axis)
        offset = [b.const(generator.standard_normal(bias), np.float32)] if bias else []
        return b.op(op, x, weights, *offset, **attributes)

    x = b.quantized("x", 2.0**-9)
    deep = b.quantized(product("Conv", x, 60, 3, 3, 3, pads=[1] * 4, bias=60), 2.0**-12)
    b.give("sums", product("Conv", deep, 17, 60, 3, 3, pads=[2, 1, 0, 1], strides=[2, 1]))
    b.give("narrow", b.quantized(b.op("Relu", product("Conv", deep, 19, 60, 1, 1, bias=19)), 0.05, narrow))
    each = product("Conv", deep, 60, 1, 3, 3, group=60, pads=[1] * 4, bias=60)
    b.give("depthwise", b.quantized(each, 2.0**-14))
    b.give("transposed", b.quantized(product("ConvTranspose", deep, 60, 5, 3, 2, strides=[2, 1]), 2.0**-11))
    stored = b.quantized(b.op("Clip", "x", b.const(-3, np.float32), b.const(3, np.float32)), 0.03, narrow)
    b.give("widened", b.quantized(product("Conv", stored, 6, 1, 2, 3, group=3), 2.0**-13))
    flat = b.op("Reshape", b.op("Transpose", deep, perm=[0, 2, 3, 1]), b.const([35, 60]))
    rows = b.quantized(product("MatMul", flat, 60, 33), 2.0**-12)
    b.give("rows", b.quantized(b.op("Add", rows, rows), 2.0**-11))
    b.give("largest", product("Conv", b.quantized(b.op("MaxPool", deep, kernel_shape=[2, 2]), 2.0**-12), 4, 30, 1, 1, group=2))
    shape = (1, 3, 5, 7)
    return b.finish(shape), rough_inputs(shape)


def functions(activations: Any) -> tuple[onnx.ModelProto, Vectors]:
    """Functions of the sums of all shapes of products, whose results are multiplied by a number for each channel or not."""
    generator = np.random.default_rng(19)
    b = Quantizing(np.array(np.iinfo(activations).min + 90, activations))
    kinds: list[Callable[[str], str]] = [
        lambda y: b.op("Mul", y, b.op("Sigmoid", y)), lambda y: b.op("HardSwish", y), lambda y: b.op("Gelu", y, approximate="tanh"),
        lambda y: b.op("LeakyRelu", y, alpha=0.3), lambda y: b.op("Gelu", y), lambda y: b.op("HardSigmoid", y),
    ]  # fmt: skip
    made = 0

    def product(op: str, x: str, *shape: int, **attributes: Any) -> str:
        nonlocal made
        image, axis = op.startswith("Conv"), 0 if op == "Conv" else 1
        channels = shape[axis] * attributes.get("group", 1) if op == "ConvTranspose" else shape[axis]
        scale = generator.uniform(2.0**-7, 2.0**-6, shape[axis]) / np.sqrt(np.prod(shape) / shape[axis])
        zero = np.zeros(scale.shape, np.int8)
        weights = b.dequantize(b.const(random_q(generator, shape, np.int8).clip(-127)), scale, zero, axis=axis)
        y = kinds[made % len(kinds)](b.op(op, x, weights, **attributes))
        factors = b.const(generator.uniform(0.2, 3, (channels, 1, 1) if image else channels), np.float32)
        if made % 5:
            y = b.op("Mul", *([y, factors] if made % 2 else [factors, y]))
        y = b.quantized(y, 0.03)
        b.give(f"y{made}", y)
        made += 1
        return y

    x = b.quantized("x", 0.05)
    deep = product("Conv", x, 32, 3, 3, 3, pads=[1] * 4)
    for _ in range(2):
        for size, stride, pad in ((3, 1, 1), (5, 1, 2), (3, 2, 0)):
            product("Conv", deep, 32, 1, size, size, pads=[pad] * 4, group=32, strides=[stride] * 2)
        product("Conv", deep, 35, 32, 3, 3, pads=[1] * 4)
        product("Conv", deep, 21, 32, 1, 1)
    product("Conv", x, 3, 1, 3, 3, group=3)
    product("Conv", deep, 44, 16, 1, 2, group=2)
    product("ConvTranspose", deep, 32, 5, 3, 2, strides=[2, 1], group=2)
    rows = product("MatMul", b.op("Reshape", b.op("Transpose", deep, perm=[0, 2, 3, 1]), b.const([35, 32])), 32, 37)
    product("Gemm", rows, 37, 9)
    shape = (1, 3, 5, 7)
    return b.finish(shape), rough_inputs(shape)


HAND_MADE: dict[str, Callable[[], tuple[onnx.ModelProto, Vectors]]] = {
    "extremes_u8": lambda: extreme_weights(np.uint8),
    "extremes_s8": lambda: extreme_weights(np.int8),
    "ties_u8": lambda: ties(np.uint8),
    "ties_s8": lambda: ties(np.int8),
    "floats_u8": lambda: floats(np.uint8),
    "floats_s8": lambda: floats(np.int8),
    "functions_u8": lambda: functions(np.uint8),
    "functions_s8": lambda: functions(np.int8),
    "wide_u16": lambda: wide(np.uint16),
    "wide_s16": lambda: wide(np.int16),
}


@cache
def hand_made(name: str) -> tuple[Net, Vectors]:
    model, vectors = HAND_MADE[name]()
    return quantized_net(model, name), vectors
