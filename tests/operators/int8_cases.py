"""Random quantized graphs around one operator of clause 11 of docs/int8.md; the evaluator gives the bytes that are right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from edgec.oracle import Evaluator
from tests.operators.case import Case
from tests.oracle.models import Builder, random_q

Shape = tuple[int, ...]
CODES = {8: (np.uint8, np.int8), 16: (np.uint16, np.int16)}


class Quantized(Builder):
    """A quantized graph under construction; `g` makes every choice."""

    def __init__(self, seed: int, bits: int = 8) -> None:
        super().__init__()
        self.g = np.random.default_rng(seed)
        self.dtype = CODES[bits][int(self.g.integers(2))]
        self.inputs: dict[str, np.ndarray] = {}
        self.narrow = False  # the last weights: clause 4 has no function of the sums of others

    def pick(self, *choices: Any) -> Any:
        return choices[int(self.g.integers(len(choices)))]

    def chance(self, probability: float) -> bool:
        return bool(self.g.random() < probability)

    def extents(self, low: int, high: int, least: int = 1, most: int = 9) -> Shape:
        """A shape of between `low` and `high` dimensions."""
        return tuple(int(n) for n in self.g.integers(least, most + 1, int(self.g.integers(low, high + 1))))

    def scale(self, near: float = 0.05) -> np.float32:
        """Within a factor of four of `near`, sometimes a power of two, so that results are ties."""
        found = near * 2.0 ** self.g.uniform(-2, 2) * 2.0 ** (8 - 8 * np.dtype(self.dtype).itemsize)
        return np.float32(2.0 ** round(np.log2(found)) if self.chance(0.3) else found)

    def zero(self, dtype: Any = None) -> Any:
        """Any code; the extremes often."""
        dtype = dtype or self.dtype
        info = np.iinfo(dtype)
        return dtype(self.pick(info.min, info.max, (info.min + info.max + 1) // 2, int(self.g.integers(info.min, info.max + 1))))

    def real(self, shape: Shape, scale: np.float32 | None = None) -> str:
        """A float value that is codes: of an input, quantized or not yet; of a constant now and then."""
        scale, zero = self.scale() if scale is None else scale, self.zero()
        codes = random_q(self.g, shape, self.dtype) if shape else np.asarray(self.g.integers(0, 100), self.dtype)
        name = f"x{len(self.inputs)}"
        if self.inputs and self.chance(0.15):
            return self.dequantize(self.const(codes), scale, zero)
        if self.chance(0.3):
            values = (codes.astype(np.float32) - np.float32(zero)) * scale * np.float32(1.1)
            values.flat[0] = self.pick(np.nan, np.inf, -np.inf, 0.0)
            self.inputs[name] = values
            return self.dequantize(self.quantize(name, scale, zero), scale, zero)
        self.inputs[name] = codes
        return self.dequantize(name, scale, zero)

    def weights(self, shape: Shape, axis: int, scale: float) -> str:
        """DequantizeLinear of constant codes: per tensor or per channel, signed or not, with a zero point or without."""
        dtype = self.pick(np.int8, np.int8, np.uint8)
        count = () if self.chance(0.4) else (shape[axis],)
        scales = (scale * self.g.uniform(0.5, 2, count)).astype(np.float32)
        offset = 0 if dtype is np.int8 else 128
        zeros = (
            np.full(count, offset, dtype)
            if self.chance(0.7)
            else random_q(self.g, count or (1,), dtype).reshape(count or (1,))[: (count or (1,))[0]]
        )
        zeros = zeros.reshape(count)
        codes = random_q(self.g, shape, dtype)
        if self.chance(0.5) and dtype is np.int8:
            codes = np.maximum(codes, -127)
        steps = np.moveaxis(codes, axis, -1).astype(np.int32) - zeros
        self.narrow = bool(np.abs(steps).max(initial=0) <= 127)
        return self.dequantize(self.const(codes), scales, zeros, axis=axis)

    def bias(self, count: int) -> list[str]:
        """None, or one value for each output channel, in float."""
        return [] if self.chance(0.4) else [self.const(self.g.uniform(-20, 20, count).astype(np.float32))]

    def finish(self, value: str) -> str:
        """What a product may compute of its sums: an activation, or a function."""
        op, attributes = self.pick(("", {}), ("", {}), ("HardSwish", {}), ("HardSigmoid", {"alpha": 0.3}), ("LeakyRelu", {"alpha": -0.2}))
        return self.op(op, value, **attributes) if op and self.narrow else self.activation(value)

    def activation(self, value: str) -> str:
        choice = self.pick("", "", "Relu", "Clip", "low", "high")
        if choice == "Relu":
            return self.op("Relu", value)
        if choice:
            low, high = self.const(np.float32(-0.7)), self.const(np.float32(3.0))
            return self.op("Clip", value, *{"Clip": (low, high), "low": (low,), "high": ("", high)}[choice])
        return value


def _window(b: Quantized, rank: int, extents: Shape, kernel: Shape) -> dict[str, Any]:
    """Strides, pads and dilations under which the kernel fits."""
    dilations = [int(n) if (k - 1) * n + 1 <= extent else 1 for k, n, extent in zip(kernel, b.g.integers(1, 3, rank), extents, strict=True)]
    pads = [int(b.g.integers(0, k)) for k in (*kernel, *kernel)]
    return {"strides": [int(n) for n in b.g.integers(1, 4, rank)], "pads": pads, "dilations": dilations}


def convolution(b: Quantized) -> tuple[str, float]:
    rank = b.pick(1, 2, 2, 2)
    groups, inner, outer = b.pick(
        (1, int(b.g.integers(1, 40)), int(b.g.integers(1, 40))), (3, 2, 4), (int(b.g.integers(1, 40)), 1, b.pick(1, 2))
    )
    extents, kernel = b.extents(rank, rank, 5), b.extents(rank, rank, 1, 4)
    x = b.real((int(b.g.integers(1, 3)), groups * inner, *extents))
    w = b.weights((groups * outer, inner, *kernel), 0, 0.01)
    y = b.op("Conv", x, w, *b.bias(groups * outer), group=groups, **_window(b, rank, extents, kernel))
    return b.finish(y), 0.05 * 0.01 * 70 * np.sqrt(inner * np.prod(kernel))


def transposed(b: Quantized) -> tuple[str, float]:
    rank = b.pick(1, 2, 2)
    groups, inner, outer = b.pick((1, int(b.g.integers(1, 20)), int(b.g.integers(1, 20))), (2, 3, 2), (5, 1, 1))
    extents, kernel = b.extents(rank, rank, 3, 6), b.extents(rank, rank, 2, 4)
    x = b.real((1, groups * inner, *extents))
    # one scale, or one per output channel; with groups the second axis does not name an output channel
    w = b.weights((groups * inner, outer, *kernel), 1, 0.01)
    strides = [int(n) for n in b.g.integers(1, 4, rank)]
    pads = [int(b.g.integers(0, min(k, 2))) for k in (*kernel, *kernel)]
    y = b.op("ConvTranspose", x, w, *b.bias(groups * outer), group=groups, strides=strides, pads=pads)
    return b.finish(y), 0.05 * 0.01 * 70 * np.sqrt(inner * np.prod(kernel))


def dense(b: Quantized) -> tuple[str, float]:
    inner, outer = (int(n) for n in b.g.integers(1, 70, 2))
    if b.chance(0.5):
        turned = b.chance(0.5)
        w = b.weights((outer, inner) if turned else (inner, outer), 0 if turned else 1, 0.01)
        y = b.op("Gemm", b.real((int(b.g.integers(1, 5)), inner)), w, *b.bias(outer), transB=int(turned))
    else:
        y = b.op("MatMul", b.real((*b.extents(0, 3, 1, 4), inner)), b.weights((inner, outer), 1, 0.01))
    return b.finish(y), 0.05 * 0.01 * 70 * np.sqrt(inner)


def arithmetic(b: Quantized) -> tuple[str, float]:
    """Two operands whose shapes broadcast; sometimes one value twice."""
    shape = b.extents(0, 5, 1, 7)
    other = tuple(1 if b.chance(0.3) else extent for extent in shape[int(b.g.integers(0, len(shape) + 1)) :])
    op = b.pick("Add", "Sub", "Mul")
    first = b.real(shape)
    second = first if b.chance(0.1) else b.real(other)
    y = b.op(op, *((first, second) if b.chance(0.5) else (second, first)))
    return b.activation(y), 0.05 * (4 if op == "Mul" else 1)


def concatenation(b: Quantized) -> tuple[str, float]:
    shape = b.extents(1, 5, 1, 5)
    axis = int(b.g.integers(len(shape)))
    scale, equal = b.scale(), b.chance(0.4)
    parts = []
    for _ in range(int(b.g.integers(1, 6))):
        extent = int(b.g.integers(1, 6))
        parts.append(b.real((*shape[:axis], extent, *shape[axis + 1 :]), scale if equal else None))
    if b.chance(0.2):
        parts.append(parts[0])
    return b.op("Concat", *parts, axis=axis), 0.05


def movement(b: Quantized) -> tuple[str, float]:
    y, shape = _moved(b, "", ())
    for _ in range(int(b.g.integers(0, 2))):
        y, shape = _moved(b, y, shape)
    return y, 0.05


def _moved(b: Quantized, x: str, shape: Shape) -> tuple[str, Shape]:
    """One movement; of a new operand, when x is empty."""
    if not x:
        shape = b.extents(1, 5, 2, 6)
        x = b.real(shape)
    rank = len(shape)
    axis = int(b.g.integers(rank))
    kind = b.pick(
        "Reshape", "Transpose", "Slice", "Split", "Gather", "Unsqueeze", "Flatten", "Expand", "Pad", "Identity", "Space", "Resize"
    )
    if kind == "Reshape":
        return b.op("Reshape", x, b.const([-1, shape[axis]])), (int(np.prod(shape)) // shape[axis], shape[axis])
    if kind == "Transpose":
        order = b.g.permutation(rank).tolist()
        return b.op("Transpose", x, perm=order), tuple(shape[d] for d in order)
    if kind == "Slice" and shape[axis] > 1:
        step = b.pick(1, 2, -1, -2)
        bounds = (1, shape[axis]) if step > 0 else (-1, -(2**40))
        count = len(range(shape[axis])[slice(1, None, step) if step > 0 else slice(None, None, step)])
        operands = [b.const([value]) for value in (*bounds, axis, step)]
        return b.op("Slice", x, *operands), (*shape[:axis], count, *shape[axis + 1 :])
    if kind == "Split" and shape[axis] > 1:
        first = shape[axis] - 1
        return b.op("Split", x, b.const([first, 1]), outputs=2, axis=axis), (*shape[:axis], first, *shape[axis + 1 :])
    if kind == "Gather":
        picked = b.g.integers(-shape[axis], shape[axis], 3)
        return b.op("Gather", x, b.const(picked), axis=axis), (*shape[:axis], 3, *shape[axis + 1 :])
    if kind == "Unsqueeze" and rank < 5:
        return b.op("Unsqueeze", x, b.const([axis])), (*shape[:axis], 1, *shape[axis:])
    if kind == "Flatten":
        return b.op("Flatten", x, axis=axis), (int(np.prod(shape[:axis])), int(np.prod(shape[axis:])))
    if kind == "Expand" and rank < 5:
        return b.op("Expand", x, b.const([2, *shape])), (2, *shape)
    if kind == "Pad":
        pads = b.g.integers(0, 3, 2 * rank)
        return b.op("Pad", x, b.const(pads)), tuple(int(n) for n in np.array(shape) + pads[:rank] + pads[rank:])
    if kind == "Space":
        wide = b.op("Reshape", x, b.const([1, 1, -1, shape[-1]]))
        rows = int(np.prod(shape)) // shape[-1]
        if rows % 2 == 0 and shape[-1] % 2 == 0:
            return b.op("SpaceToDepth", wide, blocksize=2), (1, 4, rows // 2, shape[-1] // 2)
    if kind == "Resize" and rank == 4:
        return b.op("Resize", x, "", b.const([1, 1, 2, 3], np.float32), mode="nearest"), (*shape[:2], shape[2] * 2, shape[3] * 3)
    return b.op("Identity", x), shape


def pool(b: Quantized) -> tuple[str, float]:
    extents, kernel = b.extents(2, 2, 4), b.extents(2, 2, 1, 4)
    x = b.real((int(b.g.integers(1, 3)), int(b.g.integers(1, 40)), *extents))
    window = {"kernel_shape": list(kernel), **_window(b, 2, extents, kernel), "ceil_mode": int(b.g.integers(2))}
    if b.chance(0.5):
        return b.op("MaxPool", x, **window), 0.05
    return b.activation(b.op("AveragePool", x, **window, count_include_pad=int(b.g.integers(2)))), 0.02


def mean(b: Quantized) -> tuple[str, float]:
    x = b.real((int(b.g.integers(1, 3)), int(b.g.integers(1, 40)), *b.extents(2, 2)))
    if b.chance(0.5):
        return b.activation(b.op("GlobalAveragePool", x)), 0.01
    return b.activation(b.op("ReduceMean", x, b.const(b.pick([2, 3], [-1, -2])), keepdims=int(b.g.integers(2)))), 0.01


FUNCTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Relu", {}), ("LeakyRelu", {"alpha": 0.1}), ("Elu", {"alpha": 1.5}), ("Selu", {}), ("Sigmoid", {}), ("HardSigmoid", {}),
    ("HardSwish", {}), ("Gelu", {}), ("Gelu", {"approximate": "tanh"}), ("Tanh", {}), ("Erf", {}), ("Exp", {}), ("Log", {}),
    ("Sqrt", {}), ("Abs", {}), ("Neg", {}), ("Reciprocal", {}), ("Softplus", {}), ("Softsign", {}), ("Mish", {}), ("Floor", {}),
    ("Ceil", {}), ("Round", {}),
)  # fmt: skip


def function(b: Quantized) -> tuple[str, float]:
    x = b.real(b.extents(0, 5, 1, 7))
    kind = b.pick("function", "swish", "scalar", "clip")
    if kind == "function":
        op, attributes = FUNCTIONS[int(b.g.integers(len(FUNCTIONS)))]
        return b.op(op, x, **attributes), 0.05
    if kind == "swish":
        return b.op("Mul", x, b.op(b.pick("Sigmoid", "HardSigmoid"), x)), 0.05
    if kind == "clip":
        return b.op("Clip", x, b.const(np.float32(-1)), b.const(np.float32(2.5))), 0.03
    op = b.pick("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max")
    number = b.const(np.float32(b.pick(2.0, 0.5, 3.0)))
    return b.op(op, *((number, x) if op in ("Add", "Mul", "Sub", "Div") and b.chance(0.5) else (x, number))), 0.1


KINDS: tuple[Callable[[Quantized], tuple[str, float]], ...] = (
    convolution, convolution, convolution, transposed, dense, dense, arithmetic, arithmetic, concatenation, movement, movement, pool, pool,
    mean, function, function,
)  # fmt: skip


def int8_case(seed: int) -> Case:
    """One graph, its inputs (extreme codes, NaN and infinities among them) and the evaluator's bytes."""
    return _case(seed, Quantized(seed), KINDS[seed % len(KINDS)], ())


WIDE: tuple[Callable[[Quantized], tuple[str, float]], ...] = (
    convolution, convolution, transposed, dense, dense, movement, arithmetic, pool, concatenation, mean, function,
)  # fmt: skip


def int16_case(seed: int) -> Case:
    """The same with codes of 16 bits, some with results of 8 bits, or operands."""
    b = Quantized(seed, 16 if seed % 4 else 8)
    return _case(seed, b, WIDE[seed % len(WIDE)], (np.uint8, np.int16, np.uint16))


def _case(seed: int, b: Quantized, make: Callable[[Quantized], tuple[str, float]], results: tuple[Any, ...]) -> Case:
    """results: types of codes that the result may have in place of the operands'."""
    y, near = make(b)
    if results and (b.chance(0.3) or np.dtype(b.dtype).itemsize == 1):
        b.dtype = b.pick(*results)
    scale, zero = b.scale(near), b.zero()
    if b.chance(0.1):
        scale = np.float32(0.05)
    out, dtype = b.quantize(y, scale, zero), b.dtype
    if b.chance(0.3):
        out, dtype = b.dequantize(out, scale, zero), np.float32
    model = b.model(b.inputs, {out: dtype})
    evaluator = Evaluator(model)
    case = Case(f"{'int16' if results else 'int8'} seed {seed}", make.__name__, model, b.inputs, [evaluator.run(b.inputs)[out]], 0.0, 0.0)
    return case if out in evaluator.exact_outputs else replace(case, rtol=1e-3, atol=1e-3)
