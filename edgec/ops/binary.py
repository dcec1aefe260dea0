"""Elementwise operators of several operands, all with NumPy broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgec.ir.types import DType, TensorType
from edgec.ops import exact
from edgec.ops.registry import Call, Role, operator
from edgec.ops.rules import broadcast, refuse
from edgec.program.expr import BOOL, FLOAT, Const, Expr, binary, cast, clip, const, logical, maximum, minimum, select, unary


def _arithmetic(call: Call) -> list[TensorType]:
    dtypes = {call.dtype(index) for index in range(len(call.node.inputs))}
    if len(dtypes) > 1:
        raise refuse(f"operands of different types: {', '.join(sorted(dtype.value for dtype in dtypes))}")
    return [TensorType(call.dtype(), _shape(call))]


def _shape(call: Call) -> tuple[Any, ...]:
    return broadcast([call.shape(index) for index in range(len(call.node.inputs)) if call.has(index)])


def _predicate(call: Call) -> list[TensorType]:
    return [TensorType(DType.BOOL, _arithmetic(call)[0].shape)]


def _power(call: Call) -> list[TensorType]:
    return [TensorType(call.dtype(), _shape(call))]


def _where(call: Call) -> list[TensorType]:
    if call.dtype(0) != DType.BOOL or call.dtype(1) != call.dtype(2):
        raise refuse("needs a bool condition and two operands of one type")
    return [TensorType(call.dtype(1), _shape(call))]


def _prelu(call: Call) -> list[TensorType]:
    result = _arithmetic(call)
    if result != [call.type(0)]:
        raise refuse("the slope does not broadcast to the input's shape")
    return result


def _clip(call: Call) -> list[TensorType]:
    for index in (1, 2):
        if call.has(index) and len(call.shape(index)):
            raise refuse("min and max must be scalars")
    return [call.type(0)]


def _pow(a: Expr, b: Expr) -> Expr:
    """Whole powers of integers are exact (their low bits are); others are those of binary32, towards zero."""
    if a.dtype.is_float:
        return binary("pow", a, cast(b, a.dtype))
    whole = binary("pow", a, cast(b, DType.INT64))
    if not b.dtype.is_float:
        return whole
    real = cast(b, FLOAT)
    return select(binary("eq", unary("rint", real), real), whole, cast(binary("pow", cast(a, FLOAT), real), a.dtype))


def _mod(a: Expr, b: Expr, fmod: int = 0) -> Expr:
    """The remainder has the divisor's sign; with fmod, the dividend's (C's meaning)."""
    remainder = binary("mod", a, b)
    if fmod or not _is_signed(a.dtype):
        return remainder
    opposite = logical("and", unary("not", binary("eq", remainder, 0)), binary("xor", binary("lt", remainder, 0), binary("lt", b, 0)))
    return select(opposite, remainder + b, remainder)


def _remainder(call: Call) -> list[TensorType]:
    if call.dtype().is_float and not call.node.attributes["fmod"]:
        raise refuse("of floats has the dividend's sign alone, so fmod must be 1")
    return _arithmetic(call)


def _clip_to(x: Expr, low: Expr | None = None, high: Expr | None = None) -> Expr:
    """The largest finite number, ONNX's default, is no bound: infinities stay."""
    return clip(x, None if _is_largest(low, -1) else low, None if _is_largest(high, 1) else high)


def _is_largest(bound: Expr | None, sign: int) -> bool:
    return isinstance(bound, Const) and bound.dtype.is_float and sign * bound.value >= float(np.finfo(bound.dtype.value).max)


def _shift(a: Expr, b: Expr, direction: str) -> Expr:
    """Right shifts copy the sign; an amount that is negative or reaches the width leaves only signs (right) or zeros."""
    zero, all_ones = const(0, a.dtype), const(-1, a.dtype) if _is_signed(a.dtype) else None
    inside = binary("lt", b, const(8 * b.dtype.bytes, b.dtype))
    if all_ones is not None:
        inside = logical("and", binary("le", const(0, b.dtype), b), inside)
    if direction == "LEFT":
        return select(inside, binary("shl", a, b), zero)
    if all_ones is None:
        return select(inside, binary("shr", a, b), zero)
    negative = binary("lt", a, zero)
    value = select(negative, all_ones - a, a)  # of a negative number the complement is shifted, which is positive
    shifted = select(inside, binary("shr", value, b), zero)
    return select(negative, all_ones - shifted, shifted)


def _complement(a: Expr) -> Expr:
    return binary("xor", a, const(-1 if _is_signed(a.dtype) else 2 ** (8 * a.dtype.bytes) - 1, a.dtype))


def _is_signed(dtype: DType) -> bool:
    return not dtype.value.startswith("uint")


def _forms(function: exact.Exact) -> dict[str, exact.Exact]:
    """Of the operand and a constant, or "of" a constant and the operand."""
    return {"": function, "of": lambda x, c: function(c, x)}


operator("Add", _arithmetic, role=Role.ADD, scalar=lambda a, b: a + b, exact=_forms(lambda a, b: a + b), total=True)
operator("Sub", _arithmetic, role=Role.ADD, scalar=lambda a, b: a - b, exact=_forms(lambda a, b: a - b), total=True)
operator("Mul", _arithmetic, role=Role.MUL, scalar=lambda a, b: a * b, exact=_forms(lambda a, b: a * b), total=True)
operator("Div", _arithmetic, scalar=lambda a, b: a / b, exact=_forms(exact.divide))
operator("Pow", _power, scalar=_pow, exact=_forms(exact.power))
operator("Min", _arithmetic, scalar=minimum, exact=min, total=True)
operator("Max", _arithmetic, scalar=maximum, exact=max, total=True)
operator("Mod", _remainder, scalar=_mod)
operator("BitShift", _arithmetic, scalar=_shift)
operator("BitwiseAnd", _arithmetic, scalar=lambda a, b: binary("and", a, b))
operator("BitwiseOr", _arithmetic, scalar=lambda a, b: binary("or", a, b))
operator("BitwiseXor", _arithmetic, scalar=lambda a, b: binary("xor", a, b))
operator("BitwiseNot", _arithmetic, scalar=_complement)
operator("PRelu", _prelu, scalar=lambda x, slope: select(binary("lt", x, const(0, x.dtype)), slope * x, x))
operator("Clip", _clip, role=Role.TABLE, scalar=_clip_to, exact=exact.clip, total=True)
operator("Where", _where, scalar=select)

operator("Equal", _predicate, scalar=lambda a, b: binary("eq", a, b))
operator("Less", _predicate, scalar=lambda a, b: binary("lt", a, b))
operator("LessOrEqual", _predicate, scalar=lambda a, b: binary("le", a, b))
operator("Greater", _predicate, scalar=lambda a, b: binary("lt", b, a))
operator("GreaterOrEqual", _predicate, scalar=lambda a, b: binary("le", b, a))
operator("And", _predicate, scalar=lambda a, b: logical("and", a, b))
operator("Or", _predicate, scalar=lambda a, b: logical("or", a, b))
operator("Xor", _predicate, scalar=lambda a, b: cast(binary("xor", a, b), BOOL))
