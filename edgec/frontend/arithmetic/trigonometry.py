"""Angles and hyperbolic functions, in terms of the functions that every package computes.

Each is right to a few units in the last place also where its result is small, has its sign at both ends, and takes infinities;
what is not defined is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source

# The arc tangents divided by z, in powers of z^2: of an angle below 0.2, of a hyperbolic one below 0.25
CIRCULAR = [(-1) ** n / (2 * n + 1) for n in range(7)]
HYPERBOLIC = [1 / (2 * n + 1) for n in range(8)]

Function = Callable[[Value], Value]


def series(z: Value, coefficients: Sequence[float]) -> Value:
    """z times the polynomial of z^2, whose first coefficient is 1."""
    square = z * z
    rest = square * coefficients[-1]
    for coefficient in reversed(coefficients[1:-1]):
        rest = (rest + coefficient) * square
    return z + z * rest


def tan(x: Value) -> Value:
    return x.of("Sin") / x.of("Cos")


def half_exponential(x: Value) -> Value:
    """exp|x| / 2, which is finite wherever the hyperbolic functions are."""
    root = (x.of("Abs") * 0.5).of("Exp")
    return root * 0.5 * root


def cosh(x: Value) -> Value:
    half = half_exponential(x)
    return half + 0.25 / half


def sinh(x: Value) -> Value:
    """Of small x 2 t / (1 - t^2) with t = tanh(x / 2)."""
    half, t = half_exponential(x), (x * 0.5).of("Tanh")
    return x.of("Abs").below(1, (t + t) / (1 - t * t), x.of("Sign") * (half - 0.25 / half))


def atan(x: Value) -> Value:
    """Of more than 1 it is pi / 2 - atan(1 / x). An angle is halved by z / (1 + sqrt(1 + z^2)), twice until the series is right."""
    size = x.of("Abs")
    small = size.below(1, size, 1 / size)
    z = small
    for _ in range(2):
        z = z / ((z * z + 1).of("Sqrt") + 1)
    angle = series(z, CIRCULAR) * 4
    return x.of("Sign") * size.below(1, angle, math.pi / 2 - angle)


def asin(x: Value) -> Value:
    return atan(x / ((1 - x) * (x + 1)).of("Sqrt"))


def acos(x: Value) -> Value:
    return atan(((1 - x) / (x + 1)).of("Sqrt")) * 2


def atanh(x: Value) -> Value:
    return x.of("Abs").below(0.25, series(x, HYPERBOLIC), ((x + 1) / (1 - x)).of("Log") * 0.5)


def asinh(x: Value) -> Value:
    """Of small x 2 atanh(x / (1 + sqrt(1 + x^2))), else ln|x| + ln(1 + sqrt(1 + 1 / x^2)): no square is too large."""
    size, inverse = x.of("Abs"), 1 / x
    small = series(x / ((x * x + 1).of("Sqrt") + 1), HYPERBOLIC) * 2
    large = size.of("Log") + ((inverse * inverse + 1).of("Sqrt") + 1).of("Log")
    return size.below(0.5, small, x.of("Sign") * large)


def acosh(x: Value) -> Value:
    """Near 1 it is 2 atanh(sqrt(x - 1) / sqrt(x + 1)), else ln x + ln(1 + sqrt(1 - 1 / x^2))."""
    inverse = 1 / x
    near = series((x - 1).of("Sqrt") / (x + 1).of("Sqrt"), HYPERBOLIC) * 2
    return x.below(1.125, near, x.of("Log") + ((1 - inverse * inverse).of("Sqrt") + 1).of("Log"))


FUNCTIONS: dict[str, Function] = {
    "Tan": tan, "Sinh": sinh, "Cosh": cosh, "Asin": asin, "Acos": acos, "Atan": atan, "Asinh": asinh, "Acosh": acosh, "Atanh": atanh,
}  # fmt: skip


@rule(*FUNCTIONS)
def function(b: Builder, s: Source) -> None:
    (x,) = b.emit(s, "Identity", [b.single(s.inputs[0])])
    b.emit(s, "Identity", [FUNCTIONS[s.op](Value(b, s, x)).name], s.outputs)
