"""Real functions for clause 9: exact fractions where the function is algebraic, else 50 significant digits.

A function takes and gives a Fraction; INFINITE and MINUS_INFINITE saturate, UNDEFINED has no value.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from enum import Enum
from fractions import Fraction
from math import ceil, floor


class Special(Enum):
    INFINITE = "inf"
    MINUS_INFINITE = "-inf"
    UNDEFINED = "nan"


INFINITE, MINUS_INFINITE, UNDEFINED = Special.INFINITE, Special.MINUS_INFINITE, Special.UNDEFINED
Real = Fraction | Special
Function = Callable[[Fraction], Real]

DIGITS = 50
HUGE = 10_000  # e^HUGE exceeds every product of binary32 numbers
TINY = Fraction(1, 10**20)  # below it, two terms of a series are right to 60 digits
_work = Context(prec=75, Emax=99_999_999, Emin=-99_999_999)
_wide = Context(prec=200, Emax=99_999_999, Emin=-99_999_999)  # holds every product of 8 bits and a binary32 number exactly
_result = Context(prec=DIGITS, Emax=99_999_999, Emin=-99_999_999)


def _decimal(x: Fraction) -> Decimal:
    return _work.divide(Decimal(x.numerator), Decimal(x.denominator))


def _rounded(x: Decimal) -> Fraction:
    return Fraction(_result.plus(x))


def _exp(x: Fraction) -> Decimal:
    return _work.exp(_decimal(min(x, Fraction(HUGE)))) if x >= -HUGE else Decimal(0)


def _sigmoid(x: Fraction) -> Decimal:
    return _work.divide(Decimal(1), _work.add(Decimal(1), _exp(-x)))


def _tanh(x: Fraction) -> Decimal:
    if abs(x) < TINY:
        return _decimal(x - x**3 / 3)
    return _work.subtract(Decimal(1), _work.divide(Decimal(2), _work.add(_exp(2 * x), Decimal(1))))


def _softplus(x: Fraction) -> Decimal:
    tail = _work.ln(_work.add(Decimal(1), _exp(-abs(x))))
    return _work.add(_decimal(max(x, Fraction(0))), tail)


def _pi() -> Decimal:
    """Machin: pi/4 = 4 arctan 1/5 - arctan 1/239."""

    def arctan(n: int) -> Fraction:
        return sum((Fraction((-1) ** k, (2 * k + 1) * n ** (2 * k + 1)) for k in range(120)), Fraction(0))

    return _decimal(4 * (4 * arctan(5) - arctan(239)))


PI = _pi()


def _erf(x: Decimal) -> Decimal:
    """2/sqrt(pi) x e^(-x^2) sum (2x^2)^n / (1 3 5 ... (2n + 1)), all terms of one sign; 1 beyond 12 (1 - erf < 10^-63)."""
    if abs(x) > 12:
        return Decimal(1).copy_sign(x)
    square = _work.multiply(x, x)
    term = total = Decimal(1)
    n = 0
    while term > total.scaleb(-70, _work):
        n += 1
        term = _work.divide(_work.multiply(term, _work.multiply(Decimal(2), square)), Decimal(2 * n + 1))
        total = _work.add(total, term)
    front = _work.multiply(_work.divide(_work.multiply(Decimal(2), x), _work.sqrt(PI)), _work.exp(-square))
    return _work.multiply(front, total)


def _gelu(x: Fraction) -> Decimal:
    scaled = _work.divide(_decimal(x), _work.sqrt(Decimal(2)))
    half = _work.divide(_decimal(x), Decimal(2))
    return _work.multiply(half, _work.add(Decimal(1), _erf(scaled)))


def _gelu_tanh(x: Fraction) -> Decimal:
    inner = _work.multiply(_work.sqrt(_work.divide(Decimal(2), PI)), _decimal(x + Fraction("0.044715") * x**3))
    half = _work.divide(_decimal(x), Decimal(2))
    return _work.multiply(half, _work.add(Decimal(1), _tanh(Fraction(inner))))


def _times(x: Fraction, factor: Decimal) -> Decimal:
    return _work.multiply(_decimal(x), factor)


def _log(x: Fraction) -> Real:
    if x <= 0:
        return UNDEFINED if x < 0 else MINUS_INFINITE
    return _rounded(_work.ln(_decimal(x)))


def _sqrt(x: Fraction) -> Real:
    return UNDEFINED if x < 0 else _rounded(_root(x))


def _root(x: Fraction) -> Decimal:
    """Exact for squares."""
    return _wide.sqrt(_wide.divide(Decimal(x.numerator), Decimal(x.denominator)))


def clip(x: Fraction, low: Fraction | None, high: Fraction | None) -> Fraction:
    """min(max(x, low), high), None being no bound."""
    x = x if low is None else max(x, low)
    return x if high is None else min(x, high)


def hard_sigmoid(x: Fraction, alpha: Fraction, beta: Fraction) -> Fraction:
    return clip(alpha * x + beta, Fraction(0), Fraction(1))


def hard_swish(x: Fraction) -> Fraction:
    return x * hard_sigmoid(x, Fraction(1, 6), Fraction(1, 2))


def swish(x: Fraction, alpha: Fraction) -> Fraction:
    return _rounded(_times(x, _sigmoid(alpha * x)))


def elu(x: Fraction, alpha: Fraction, gamma: Fraction = Fraction(1)) -> Fraction:
    """gamma x, or gamma alpha (e^x - 1) below 0."""
    if x >= 0:
        return gamma * x
    less = x + x**2 / 2 if -x < TINY else Fraction(_work.subtract(_exp(x), Decimal(1)))
    return gamma * alpha * less


def divide(a: Fraction, b: Fraction) -> Real:
    """a / b; 0 / 0 is undefined, another number by 0 infinite with that number's sign."""
    if b == 0:
        return INFINITE if a > 0 else MINUS_INFINITE if a < 0 else UNDEFINED
    return a / b


def power(a: Fraction, b: Fraction) -> Real:
    """a^b: exact for whole b, through square roots for half ones, else e^(b ln a); 0 to a negative power is infinite."""
    if a == 0:
        return Fraction(1 if b == 0 else 0) if b >= 0 else INFINITE
    if b.denominator == 1 and abs(b) <= 64:
        return a ** int(b)
    sign = -1 if a < 0 and b.denominator == 1 and int(b) % 2 else 1
    if a < 0 and b.denominator != 1:
        return UNDEFINED
    if b.denominator == 2 and abs(b) <= 64:
        return _rounded(_wide.power(_root(a), Decimal(b.numerator)))
    exponent = Fraction(_work.multiply(_decimal(b), _work.ln(_decimal(abs(a)))))
    return sign * _rounded(_exp(exponent))


PLAIN: dict[str, Function] = {  # operators without attributes
    "Relu": lambda x: max(x, Fraction(0)), "Abs": abs, "Neg": lambda x: -x, "Floor": lambda x: Fraction(floor(x)),
    "Ceil": lambda x: Fraction(ceil(x)), "Round": lambda x: Fraction(round(x)), "Reciprocal": lambda x: divide(Fraction(1), x),
    "Softsign": lambda x: x / (1 + abs(x)), "HardSwish": hard_swish, "Sqrt": _sqrt, "Log": _log,
    "Exp": lambda x: _rounded(_exp(x)), "Sigmoid": lambda x: _rounded(_sigmoid(x)), "Tanh": lambda x: _rounded(_tanh(x)),
    "Erf": lambda x: _rounded(_erf(_decimal(x))), "Softplus": lambda x: _rounded(_softplus(x)),
    "Mish": lambda x: _rounded(_times(x, _tanh(Fraction(_softplus(x))))),
}  # fmt: skip

GELU: dict[str, Function] = {"none": lambda x: _rounded(_gelu(x)), "tanh": lambda x: _rounded(_gelu_tanh(x))}
