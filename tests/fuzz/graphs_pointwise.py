"""Drawers of elementwise operators, and of what makes constants: each adds its operator with random operands and attributes to a draft."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from tests.fuzz.graphs_draft import FLOAT, MICROSOFT, WHOLE, Draft

Drawer = Callable[[Draft, str], None]
BOOL = np.dtype(bool)
ARITHMETIC = (np.int32, np.int64, np.uint8, np.int8, np.uint32, np.uint64, np.int16, np.uint16)


def real(d: Draft) -> float:
    """An attribute: of any sign, often a round number."""
    return float(d.pick(0.0, 1.0, -1.0, 0.5, 2.0, 0.01, round(float(d.g.normal()), 3), float(d.g.normal() * 3)))


def positive(d: Draft) -> float:
    return abs(real(d)) + d.pick(0.01, 0.5)


ATTRIBUTES: dict[str, Callable[[Draft], dict[str, Any]]] = {
    "LeakyRelu": lambda d: {"alpha": real(d)},
    "Elu": lambda d: {"alpha": real(d)},
    "Celu": lambda d: {"alpha": positive(d)},
    "Selu": lambda d: {"alpha": real(d), "gamma": real(d)},
    "HardSigmoid": lambda d: {"alpha": real(d), "beta": real(d)},
    "ThresholdedRelu": lambda d: {"alpha": positive(d)},
    "Shrink": lambda d: {"lambd": abs(real(d)), "bias": real(d)},
    "Swish": lambda d: {"alpha": real(d)},
    "Gelu": lambda d: {"approximate": d.pick("none", "tanh")},
    "IsInf": lambda d: {"detect_negative": d.number(0, 1), "detect_positive": d.number(0, 1)},
    "Dropout": lambda d: {"ratio": 0.3} if d.opset < 12 else {"seed": 3},
}


def unary(d: Draft, op: str) -> None:
    x = d.data()
    d.op(op, x, **(ATTRIBUTES[op](d) if op in ATTRIBUTES and d.chance(0.7) else {}))


def several_types(d: Draft, op: str) -> None:
    d.op(op, d.data((FLOAT, *(WHOLE if d.chance(0.5) else ()))))


def gelu(d: Draft, op: str) -> None:
    if d.opset < 20 or d.chance(0.2):
        d.op(op, d.data(), domain=MICROSOFT)
    else:
        unary(d, op)


def of_bool(d: Draft, op: str) -> None:
    x = d.data((BOOL,))
    d.op(op, x, *(() if op == "Not" else (d.partner(x),)))


def binary(d: Draft, op: str) -> None:
    x = d.data((FLOAT,) if d.chance(0.7) else ARITHMETIC)
    y = d.partner(x)
    d.op(op, *((x, y) if d.chance(0.6) else (y, x)))


def compare(d: Draft, op: str) -> None:
    x = d.data((FLOAT,) if d.chance(0.6) else (np.int32, np.int64, *((BOOL,) if op == "Equal" else ())))
    d.op(op, x, d.partner(x))


def divide(d: Draft, op: str) -> None:
    """Of integers only by constants: ONNX Runtime ends the process at a division by 0, and at INT_MIN / -1."""
    if d.chance(0.6) and op == "Div":
        x = d.data()
        y = d.partner(x)
        d.op(op, *((x, y) if d.chance(0.6) else (y, x)))
        return
    if d.chance(0.3) and op == "Mod":
        d.since(10)
        x = d.data()
        d.op(op, x, d.partner(x), fmod=1)
        return
    x = d.data((np.int32, np.int64, np.uint8, np.int8, np.uint32))
    values = d.array(d.dtype(x), d.fitting(d.shape(x)))
    divisor = d.const(
        np.where((values == 0) | (values == values.dtype.type(-1 if values.dtype.kind == "i" else 0)), 3, values).astype(values.dtype)
    )
    d.op(op, x, divisor, **({"fmod": d.number(0, 1)} if op == "Mod" else {}))


def power(d: Draft, op: str) -> None:
    x = d.data()
    exponent = d.pick(2.0, 3.0, 0.5, -1.0, 1.0, 0.0, -0.5)
    kind = d.pick(FLOAT, FLOAT, np.int32, np.int64) if d.opset >= 12 else FLOAT
    if d.chance(0.3):
        x = d.op("Abs", x)
        d.op(op, x, d.partner(x, FLOAT))
    else:
        d.op(op, x, d.const(exponent if kind == FLOAT else int(exponent), kind))


def shift(d: Draft, op: str) -> None:
    """By less than the width: more is undefined in ONNX Runtime."""
    x = d.data((np.uint8, np.uint32, np.uint64))
    d.op(op, x, d.const(d.g.integers(0, 8 * d.dtype(x).itemsize, d.fitting(d.shape(x))), d.dtype(x)), direction=d.pick("LEFT", "RIGHT"))


def bitwise(d: Draft, op: str) -> None:
    x = d.data(WHOLE)
    d.op(op, x, *(() if op == "BitwiseNot" else (d.partner(x),)))


def variadic(d: Draft, op: str) -> None:
    x = d.data((FLOAT,) if op in ("Sum", "Mean") or d.chance(0.7) else (np.int32, np.int64, np.uint8, np.int8))
    d.op(op, x, *(d.partner(x) for _ in range(d.number(0, 3))))


def prelu(d: Draft, op: str) -> None:
    x = d.data()
    shape = d.shape(x)[d.number(0, d.rank(x)) :] if d.rank(x) else ()
    d.op(op, x, d.numbers([extent if d.chance(0.7) else 1 for extent in shape]))


def clip(d: Draft, op: str) -> None:
    dtype = FLOAT if d.chance(0.7) or d.opset < 12 else d.pick(np.int8, np.uint8, np.int32, np.int64)
    x, (low, high) = d.data((dtype,)), sorted(d.pick((-1, 1), (0, 6), (-3, 100), (3, 20), (5, 5)))
    low = max(low, 0) if np.dtype(dtype).kind == "u" else low
    given = d.pick((1, 1), (1, 0), (0, 1), (0, 0))
    if d.opset < 11:
        d.op(op, x, **{name: float(value) for name, value, there in zip(("min", "max"), (low, high), given, strict=True) if there})
    else:
        d.op(op, x, *(d.const(value, dtype) if there else "" for value, there in zip((low, high), given, strict=True)))


def where(d: Draft, op: str) -> None:
    d.since(9)
    condition = d.data((BOOL,))
    x = d.partner(condition, d.pick(FLOAT, FLOAT, np.int32, np.int64, np.uint8))
    d.op(op, condition, x, d.partner(x))


def cast(d: Draft, op: str) -> None:
    """Between all types; a float beyond an integer type's range is undefined, see graphs_free.py."""
    if op == "CastLike":
        d.since(15)
    if d.chance(0.15):
        half = converted(d, op, d.data(), np.float16)
        d.op("Cast", d.op("Abs", half) if d.chance(0.5) else half, to=TensorProto.FLOAT)
        return
    converted(d, op, d.data((FLOAT, BOOL, *WHOLE)), d.pick(FLOAT, FLOAT, BOOL, *WHOLE))


def converted(d: Draft, op: str, x: str, target: Any) -> Any:
    if op == "Cast":
        return d.op(op, x, to=helper.np_dtype_to_tensor_dtype(np.dtype(target)))
    some = d.chance(0.3) and target != np.float16
    return d.op(op, x, d.data((target,)) if some else d.const(np.zeros(d.pick((), (1,), (0,), (2, 0)), target)))


def constant_of_shape(d: Draft, op: str) -> None:
    d.since(9)
    value = np.array([d.pick(0, 1, 3)], d.pick(FLOAT, np.int64, np.bool_))
    from onnx import numpy_helper

    made = d.op(op, d.const(d.extents(0, 3), np.int64), value=numpy_helper.from_array(value))
    d.op("Where", made, d.numbers(()), d.numbers(())) if value.dtype == BOOL else d.op("Add", made, d.partner(made))


def range_(d: Draft, op: str) -> None:
    d.since(11)
    dtype = d.pick(FLOAT, np.int64, np.int32)
    bounds = d.pick((0, 5, 1), (7, -3, -2), (1, 2, 3))
    made = d.op(op, *(d.const(value, dtype) for value in bounds))
    d.op("Mul", made, d.partner(made))


def shape_of(d: Draft, op: str) -> None:
    """What is computed from a shape is a constant to edgec."""
    x = d.data((FLOAT, np.int32))
    cut = {"start": d.number(-3, 2)} if op == "Shape" and d.opset >= 15 and d.chance(0.3) else {}
    made = d.op(op, x, **cut)
    d.op("Add", made, d.const(d.number(0, 9), np.int64))


def constant(d: Draft, op: str) -> None:
    kinds: list[dict[str, Any]] = [{"value_float": real(d)}, {"value_floats": [1.0, 2.5]}, {"value_int": 3}, {"value_ints": [1, 2]}]
    d.since(12)
    value = d.op(op, **d.pick(*kinds))
    d.op("Mul", value, d.partner(value, constant=0.0))


def window_function(d: Draft, op: str) -> None:
    d.since(17)
    made = d.op(op, d.const(d.number(1, 9), np.int64), periodic=d.number(0, 1))
    d.op("Mul", made, d.partner(made, constant=0.0))


FLOAT_UNARY = (
    "Exp", "Log", "Sqrt", "Tanh", "Erf", "Sigmoid", "Floor", "Ceil", "Round", "Sin", "Cos", "Reciprocal", "LeakyRelu", "Elu", "Celu",
    "Selu", "HardSigmoid", "HardSwish", "Swish", "Softplus", "Softsign", "Mish", "ThresholdedRelu", "Shrink", "IsNaN", "IsInf", "Dropout",
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh", "Tan",
)  # fmt: skip
POINTWISE: dict[str, Drawer] = {
    **dict.fromkeys(FLOAT_UNARY, unary),
    **dict.fromkeys(("Neg", "Abs", "Sign", "Relu", "Identity"), several_types),
    **dict.fromkeys(("And", "Or", "Xor", "Not"), of_bool),
    **dict.fromkeys(("Add", "Sub", "Mul"), binary),
    **dict.fromkeys(("Div", "Mod"), divide),
    **dict.fromkeys(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"), compare),
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"), bitwise),
    **dict.fromkeys(("Sum", "Mean", "Min", "Max"), variadic),
    **dict.fromkeys(("Cast", "CastLike"), cast),
    **dict.fromkeys(("Shape", "Size"), shape_of),
    **dict.fromkeys(("HannWindow", "HammingWindow", "BlackmanWindow"), window_function),
    "Gelu": gelu, "Pow": power, "BitShift": shift, "PRelu": prelu, "Clip": clip, "Where": where,
    "ConstantOfShape": constant_of_shape, "Range": range_, "Constant": constant,
}  # fmt: skip
