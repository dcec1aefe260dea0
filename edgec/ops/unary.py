"""Elementwise functions of one operand. The order of the float operations below is part of docs/int8.md, clause 10."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, pi, sqrt

from edgec.ir.types import DType, TensorType
from edgec.ops import exact
from edgec.ops.registry import Call, Role, operator
from edgec.ops.rules import refuse, same
from edgec.program.expr import Expr, binary, bits, cast, clip, const, logical, maximum, real, select, unary


def _float(call: Call) -> list[TensorType]:
    if not call.dtype().is_float:
        raise refuse(f"needs a float operand, not {call.dtype().value}")
    return [call.type(0)]


def _cast_type(call: Call) -> list[TensorType]:
    return [TensorType(DType(call.node.attributes["to"]), call.shape(0))]


def _bool(call: Call) -> list[TensorType]:
    return [TensorType(DType.BOOL, call.shape(0))]


def _cast(x: Expr, to: str) -> Expr:
    if to == "bool" and x.dtype != DType.BOOL:
        return unary("not", binary("eq", x, const(0, x.dtype)))
    return cast(x, DType(to))


def _bit_cast_type(call: Call) -> list[TensorType]:
    wanted = DType(call.node.attributes["to"])
    if call.dtype().bytes != wanted.bytes or DType.BOOL in (call.dtype(), wanted):
        raise refuse(f"the bits of {call.dtype().value} are none of {wanted.value}")
    return [TensorType(wanted, call.shape(0))]


# 1 + z/3 + z^2/5 + ... = atanh(s) / s for z = s^2 of 0 to 1/9, to 1.5e-8: the coefficients of z, z^2, ... (Chebyshev fit)
_ATANH = (0.3333332, 0.20003835, 0.14116978, 0.13433774)


def _softplus(x: Expr) -> Expr:
    """log(1 + exp(x)) without overflow: max(0, x) + log(1 + u), u = exp(-|x|), and log(1 + u) = 2 atanh(s), s = u / (2 + u) of 0 to 1/3.

    There is no 1 + u that loses bits of a small u, so nothing for the compilers of drivers to cancel.
    """
    u = unary("exp", -unary("abs", x))
    s = u / (2.0 + u)
    z = s * s
    series: Expr = real(_ATANH[-1])
    for coefficient in _ATANH[-2::-1]:
        series = series * z + coefficient
    twice = s + s
    return maximum(0.0, x) + (twice + twice * (z * series))


def _hard_sigmoid(x: Expr, alpha: float, beta: float) -> Expr:
    return clip(real(alpha) * x + real(beta), 0.0, 1.0)


def _gelu(x: Expr, approximate: str) -> Expr:
    """x/2 (1 + erf(x / sqrt 2)), or its tanh approximation x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))."""
    if approximate == "tanh":
        return (x * 0.5) * (1.0 + unary("tanh", real(sqrt(2 / pi)) * (x + real(0.044715) * (x * x * x))))
    return (x * 0.5) * (1.0 + unary("erf", x * real(sqrt(0.5))))


def _sign(x: Expr) -> Expr:
    """NaN of NaN."""
    zero, one = const(0, x.dtype), const(1, x.dtype)
    if x.dtype.value.startswith("uint"):
        return select(binary("eq", x, zero), zero, one)
    unsigned = select(binary("eq", x, x), zero, x) if x.dtype.is_float else zero
    return select(binary("lt", zero, x), one, select(binary("lt", x, zero), const(-1, x.dtype), unsigned))


def _elu(x: Expr, alpha: float) -> Expr:
    return select(binary("lt", x, 0.0), real(alpha) * (unary("exp", x) - 1.0), x)


def _selu(x: Expr, alpha: float, gamma: float) -> Expr:
    return real(gamma) * select(binary("lt", x, 0.0), real(alpha) * (unary("exp", x) - 1.0), x)


_TABLE = Role.TABLE

# name, the scalar operator of C's vocabulary, and exactly
for _name, _primitive, _exact in (
    ("Tanh", "tanh", exact.tanh), ("Erf", "erf", exact.erf), ("Sigmoid", "sigmoid", exact.sigmoid),
    ("Floor", "floor", lambda x: Fraction(floor(x))), ("Ceil", "ceil", lambda x: Fraction(ceil(x))),
    ("Round", "rint", lambda x: Fraction(round(x))),
):  # fmt: skip
    operator(_name, _float, role=_TABLE, scalar=lambda x, op=_primitive: unary(op, x), exact=_exact, total=True)

operator("Exp", _float, role=_TABLE, scalar=lambda x: unary("exp", x), exact=exact.exp)
operator("Log", _float, role=_TABLE, scalar=lambda x: unary("log", x), exact=exact.log)
operator("Sqrt", _float, role=_TABLE, scalar=lambda x: unary("sqrt", x), exact=exact.sqrt)
operator("Sin", _float, scalar=lambda x: unary("sin", x))
operator("Cos", _float, scalar=lambda x: unary("cos", x))
operator("Reciprocal", _float, role=_TABLE, scalar=lambda x: 1.0 / x, exact=lambda x: exact.divide(Fraction(1), x))
operator("Neg", same, role=_TABLE, scalar=lambda x: -x, exact=lambda x: -x, total=True)
operator("Abs", same, role=_TABLE, scalar=lambda x: unary("abs", x), exact=abs, total=True)
operator("Sign", same, scalar=_sign)
operator("Not", _bool, scalar=lambda x: unary("not", x))
operator("IsNaN", _bool, scalar=lambda x: unary("not", binary("eq", x, x)))
operator("IsInf", _bool, scalar=lambda x, detect_negative, detect_positive: _infinite(x, detect_negative, detect_positive))
operator("Cast", _cast_type, scalar=_cast)
operator("BitCast", _bit_cast_type, scalar=lambda x, to: bits(x, DType(to)))
operator("Identity", same, role=Role.MOVE, scalar=lambda x: x)

operator("Relu", same, role=_TABLE, scalar=lambda x: maximum(const(0, x.dtype), x), exact=lambda x: max(x, Fraction(0)), total=True)
operator(
    "LeakyRelu", _float, role=_TABLE, scalar=lambda x, alpha: select(binary("lt", x, 0.0), real(alpha) * x, x),
    exact=lambda x, alpha: x if x >= 0 else alpha * x, numbers=("alpha",), total=True,
)  # fmt: skip
operator("Elu", _float, role=_TABLE, scalar=_elu, exact=exact.elu, numbers=("alpha",), total=True)
operator("Selu", _float, role=_TABLE, scalar=_selu, exact=exact.elu, numbers=("alpha", "gamma"), total=True)
operator("HardSigmoid", _float, role=_TABLE, scalar=_hard_sigmoid, exact=exact.hard_sigmoid, numbers=("alpha", "beta"), total=True)
operator("HardSwish", _float, role=_TABLE, scalar=lambda x: x * _hard_sigmoid(x, 1 / 6, 0.5), exact=exact.hard_swish, total=True)
operator(
    "Swish", _float, role=_TABLE, scalar=lambda x, alpha: x * unary("sigmoid", x if alpha == 1 else real(alpha) * x),
    exact=exact.swish, numbers=("alpha",), total=True,
)  # fmt: skip
operator("Gelu", _float, role=_TABLE, scalar=_gelu, exact={"none": exact.gelu, "tanh": exact.gelu_tanh}, total=True)
operator("Softplus", _float, role=_TABLE, scalar=_softplus, exact=exact.softplus, total=True)
operator("Softsign", _float, role=_TABLE, scalar=lambda x: x / (1.0 + unary("abs", x)), exact=lambda x: x / (1 + abs(x)), total=True)
operator("Mish", _float, role=_TABLE, scalar=lambda x: x * unary("tanh", _softplus(x)), exact=exact.mish, total=True)


def _infinite(x: Expr, negative: int, positive: int) -> Expr:
    """Beyond the largest finite float, on the sides that are asked for."""
    largest = real(3.4028234663852886e38)
    above, below = binary("lt", largest, x), binary("lt", x, -largest)
    if negative and positive:
        return logical("or", above, below)
    return above if positive else below if negative else const(False)
