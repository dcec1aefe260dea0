"""Functions of one number as clause 9 of docs/int8.md takes them: algebraic ones exactly, the others to DIGITS digits.

A function takes its operand as a fraction, and further numbers; Undefined and Infinite say what is none.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

DIGITS = 50
_WORK = Context(prec=130, Emax=10**8, Emin=-(10**8))
_ROUND = Context(prec=DIGITS, Emax=10**8, Emin=-(10**8))
_FAR = Fraction(10**4)  # exp of anything beyond +-_FAR is 0 or larger than every quotient of two binary32 numbers


class Undefined(ArithmeticError):
    """The function has no value there: the zero point."""


class Infinite(ArithmeticError):
    """The function's value is infinite, with this sign."""

    def __init__(self, sign: int) -> None:
        super().__init__(sign)
        self.sign = sign


Exact = Callable[..., Fraction]  # of the operand and the function's numbers


def _decimal(x: Fraction) -> Decimal:
    return _WORK.divide(Decimal(x.numerator), Decimal(x.denominator))


def _transcendental(compute: Callable[[Decimal], Decimal]) -> Exact:
    """`compute` in 130 digits, its result rounded to DIGITS."""

    def function(x: Fraction) -> Fraction:
        with localcontext(_WORK):
            return Fraction(_ROUND.plus(compute(_decimal(x))))

    return function


def _exp(x: Decimal) -> Decimal:
    if x < -int(_FAR):
        return Decimal(0)
    return min(x, Decimal(int(_FAR))).exp()


def _sigmoid(x: Decimal) -> Decimal:
    return 1 / (1 + _exp(-x)) if x >= 0 else _exp(x) / (1 + _exp(x))


def _tanh(x: Decimal) -> Decimal:
    decay = _exp(-2 * abs(x))
    return ((1 - decay) / (1 + decay)).copy_sign(x)


def _softplus(x: Decimal) -> Decimal:
    return max(x, Decimal(0)) + (1 + _exp(-abs(x))).ln()


@lru_cache(maxsize=1)
def _pi() -> Decimal:
    """Gauss-Legendre."""
    with localcontext(_WORK):
        a, b, t, p = Decimal(1), 1 / Decimal(2).sqrt(), Decimal("0.25"), Decimal(1)
        for _ in range(8):
            following = (a + b) / 2
            b, t, p = (a * b).sqrt(), t - p * (a - following) ** 2, 2 * p
            a = following
        return (a + b) ** 2 / (4 * t)


def _erf(x: Decimal) -> Decimal:
    """2/sqrt(pi) exp(-x^2) sum_n 2^n x^(2n+1) / (2n+1)!!; beyond 13, 1 to more than DIGITS digits."""
    if abs(x) > 13:
        return Decimal(1).copy_sign(x)
    term = total = x
    n = 0
    while term and abs(term) > abs(total) * Decimal(10) ** -120:
        n += 1
        term = term * 2 * x * x / (2 * n + 1)
        total += term
    return 2 / _pi().sqrt() * (-x * x).exp() * total


def _gelu(x: Decimal) -> Decimal:
    return x / 2 * (1 + _erf(x / Decimal(2).sqrt()))


def _gelu_tanh(x: Decimal) -> Decimal:
    return x / 2 * (1 + _tanh((2 / _pi()).sqrt() * (x + Decimal("0.044715") * x**3)))


def log(x: Fraction) -> Fraction:
    if x < 0:
        raise Undefined
    if x == 0:
        raise Infinite(-1)
    return _transcendental(Decimal.ln)(x)


def sqrt(x: Fraction) -> Fraction:
    if x < 0:
        raise Undefined
    return _transcendental(Decimal.sqrt)(x)


def divide(a: Fraction, b: Fraction) -> Fraction:
    """a / b; by 0, which is +0, what IEEE has: 0 / 0 is undefined, else infinite."""
    if b == 0:
        raise Infinite(1 if a > 0 else -1) if a else Undefined
    return a / b


def power(a: Fraction, b: Fraction) -> Fraction:
    """a ** b: whole exponents exactly, halves through the square root, others through e^(b ln a)."""
    if a == 0:
        if b < 0:
            raise Infinite(1)
        return Fraction(1 if b == 0 else 0)
    if b.denominator == 1 and abs(b) <= 64:
        return a ** int(b)
    if a < 0 and b.denominator != 1:
        raise Undefined
    if b.denominator == 2 and abs(b) <= 64:
        return _transcendental(lambda x: x.sqrt() ** b.numerator)(a)
    size = _transcendental(lambda x: _exp(_decimal(b) * x.ln()))(abs(a))
    return -size if a < 0 and int(b) % 2 else size


def clip(x: Fraction, low: Fraction | None, high: Fraction | None) -> Fraction:
    raised = x if low is None else max(x, low)
    return raised if high is None else min(raised, high)


def hard_sigmoid(x: Fraction, alpha: Fraction, beta: Fraction) -> Fraction:
    return clip(alpha * x + beta, Fraction(0), Fraction(1))


def elu(x: Fraction, alpha: Fraction, gamma: Fraction = Fraction(1)) -> Fraction:
    if x >= 0:
        return gamma * x
    with localcontext(_WORK):
        return gamma * alpha * Fraction(_exp(_decimal(x)) - 1)


def swish(x: Fraction, alpha: Fraction) -> Fraction:
    return _transcendental(lambda v: v * _sigmoid(_decimal(alpha) * v))(x)


def hard_swish(x: Fraction) -> Fraction:
    return x * hard_sigmoid(x, Fraction(1, 6), Fraction(1, 2))


exp, sigmoid, tanh, erf = map(_transcendental, (_exp, _sigmoid, _tanh, _erf))
softplus, gelu, gelu_tanh = map(_transcendental, (_softplus, _gelu, _gelu_tanh))
mish = _transcendental(lambda x: x * _tanh(_softplus(x)))
