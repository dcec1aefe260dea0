"""Codes and the numbers they stand for: docs/int8.md clauses 2, 3 and 7 as scalar expressions.

Everything inside a Program uses the target's activation type; a tensor whose ONNX type is the other 8-bit type is shifted by 128. Codes
of 16 bits are int16 on every target.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from edgec.integer.grid import Grid
from edgec.ir.types import DType
from edgec.lower.values import Coded, Value
from edgec.program.expr import FLOAT, INT, Binary, Cast, Const, Expr, Unary, binary, cast, clamp, const, real, select, unary


@dataclass(frozen=True)
class Parameters:
    """Scale and zero point of one tensor, in the target's own signedness."""

    scale: np.float32
    zero: int


BOUND = 2.0**60  # bounds of numbers below it are joined with those of codes
CODES = 1 << 16  # no code or zero point is larger
FAR = 2.0**20  # with a zero point still beyond all codes
_LEAST = {DType.INT8: -128, DType.UINT8: 0, DType.INT16: -32768, DType.UINT16: 0}


def held(activation: DType, bits: int) -> DType:
    """The type of codes inside of a Program."""
    return activation if bits == 8 else DType.INT16


def local(grid: Grid, dtype: DType) -> Parameters:
    """As the type `dtype`, which has the grid's bits, counts."""
    return Parameters(grid.scale, grid.zero + _LEAST[dtype])


def limits(dtype: DType) -> tuple[int, int]:
    """The least and the largest code."""
    least = _LEAST[dtype]
    return least, least + 2 ** (8 * dtype.bytes) - 1


def shift_to(held: DType, dtype: DType) -> int:
    """What to add to a code of type `dtype` to get that of type `held` for the same number."""
    return _LEAST[held] - _LEAST[dtype]


def shifted(value: Value, dtype: DType) -> Value:
    """A tensor of codes as the other type of as many bits, each code standing for the same number."""
    if value.dtype == dtype:
        return value
    offset = shift_to(dtype, value.dtype)
    return replace(
        value, dtype=dtype, view=None, constant=None, coded=None,
        at=lambda index: cast(cast(value.at(index), INT) + offset, dtype),
    )  # fmt: skip


def coded_form(value: Value, activation: DType) -> Value:
    """The tensor of codes `value`, of either ONNX type, as `activation`, in which a Program holds codes of as many bits."""
    if value.coded is not None:
        return value.coded.value
    return shifted(value, activation)


def decoded(coded: Coded, dtype: DType) -> Value:
    """The value that `coded` stands for: fl32(fl32(q - zero) * scale), or, without a scale, the ONNX 8-bit tensor itself."""
    inner = coded.value
    if coded.scale is None:
        return replace(shifted(inner, dtype), coded=coded)
    return Value(
        dtype, inner.shape, lambda index: dequantize(inner.at(index), Parameters(coded.scale or np.float32(0), coded.zero)),
        free=inner.free, order=inner.order, splits=inner.splits, coded=coded, nodes=inner.nodes, ops=inner.ops,
    )  # fmt: skip


def dequantize(code: Expr, params: Parameters) -> Expr:
    """Clause 3."""
    return cast(difference(code, params.zero), FLOAT) * real(float(params.scale))


def difference(code: Expr, zero: int) -> Expr:
    """q - z as int32."""
    return cast(code, INT) - zero


def quantize(x: Expr, params: Parameters, activation: DType) -> Expr:
    """Clause 2: clamp(rint(fl32(x * (1/s)))), NaN giving the zero point."""
    low, high = limits(activation)
    inverse = np.float32(1) / np.float32(params.scale)
    number, least, most = _unbounded(x, inverse, float(low - params.zero), float(high - params.zero))
    bounded = clamp(number * real(float(inverse)), least, most)
    return _rounded(select(binary("eq", number, number), bounded, 0.0), params.zero, activation)


def _unbounded(x: Expr, factor: np.float32, low: float, high: float) -> tuple[Expr, float, float]:
    """What Relu and Clip bound before it is multiplied, and the bounds of both: products are in the order of numbers, and NaN stays one.

    Of a float that may become a constant gcc makes branches.
    """
    while isinstance(x, Binary) and x.op in ("maximum", "minimum") and x.dtype is FLOAT:
        number, bound = (x.b, x.a) if isinstance(x.a, Const) else (x.a, x.b)
        if not isinstance(bound, Const) or not abs(bound.value) < BOUND:
            break
        with np.errstate(over="ignore"):
            product = float(np.float32(bound.value) * factor)
        inner = (max(low, product), high) if x.op == "maximum" else (low, min(high, product))
        if not inner[0] <= inner[1]:
            break
        x, (low, high) = number, inner
    return x, low, high


def settle(steps: Expr, low: int, high: int, zero: int, activation: DType) -> Expr:
    """clamp(rint(steps), low - zero, high - zero) + zero: how every integer clause ends."""
    return _rounded(clamp(steps, float(low - zero), float(high - zero)), zero, activation)


def _rounded(bounded: Expr, zero: int, activation: DType) -> Expr:
    """rint(bounded) + zero. Bounds are whole, so it is all the same whether they or rint come first; small numbers are rounded sooner."""
    return cast(cast(unary("rint", bounded), INT) + zero, activation)


def cast_to_code(x: Expr, dtype: DType) -> Expr | None:
    """cast(x, dtype) in whole numbers, where x is clip(rint(v) + zero, low, high): compilers make vectors of these. NaN gives 0 as ever."""
    found = _steps_of(x) if dtype in _LEAST else None
    if found is None:
        return None
    v, zero, low, high = found
    known = binary("eq", v, v)
    steps = cast(unary("rint", select(known, clamp(v, -FAR, FAR), 0.0)), INT)
    return cast(clamp(steps + zero, const(low), const(high)) * cast(known, INT), dtype)


def _steps_of(x: Expr) -> tuple[Expr, Expr, int, int] | None:
    """v, zero, low and high of clip(rint(v) + zero, low, high), these two of 16 bits at most."""
    if not (isinstance(x, Binary) and x.op == "min" and isinstance(x.b, Binary) and x.b.op == "max" and x.dtype is FLOAT):
        return None
    low, high, total = x.b.a, x.a, x.b.b
    if not (isinstance(low, Const) and isinstance(high, Const) and -CODES <= low.value <= high.value <= CODES):
        return None
    added = isinstance(total, Binary) and total.op == "add"
    steps, zero = (total.a, total.b) if isinstance(total, Binary) and added else (total, const(0.0))
    offset = _whole_of(zero)
    if offset is None or not isinstance(steps, Unary) or steps.op != "rint":
        return None
    return steps.a, offset, int(low.value), int(high.value)


def _whole_of(zero: Expr) -> Expr | None:
    """A zero point, that is a float, as int32."""
    if isinstance(zero, Const):
        return const(int(zero.value)) if abs(zero.value) <= CODES and zero.value == int(zero.value) else None
    return cast(zero.a, INT) if isinstance(zero, Cast) and zero.a.dtype in _LEAST else None


def requantize(code: Expr, source: Parameters, result: Parameters, low: int, high: int, activation: DType) -> Expr:
    """Clause 7."""
    if source == result:
        full = (low, high) == limits(activation)
        return code if full else cast(clamp(cast(code, INT), const(low), const(high)), activation)
    factor = np.float32(source.scale) / np.float32(result.scale)
    return settle(cast(difference(code, source.zero), FLOAT) * real(float(factor)), low, high, result.zero, activation)


def requantize_table(source: Parameters, result: Parameters, activation: DType) -> np.ndarray:
    """Clause 7 for every code, the lowest one first, in binary32."""
    low, high = limits(activation)
    factor = np.float32(source.scale) / np.float32(result.scale)
    steps = np.rint((np.arange(low, high + 1) - source.zero).astype(np.float32) * factor)
    codes: np.ndarray = np.clip(steps, low - result.zero, high - result.zero).astype(np.int32) + result.zero
    return codes.astype(activation.numpy)
