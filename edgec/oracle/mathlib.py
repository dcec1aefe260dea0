"""runtimes/c/math.h in numpy: the same operations in the same order, hence the same bits.

Every function takes float32 arrays and gives a float32 array. numpy rounds after each operation and never fuses two.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
f32 = np.float32
INFINITY, NAN = f32(np.inf), f32(np.nan)


def _ieee(function: Callable[..., Floats]) -> Callable[..., Floats]:
    """Overflow, division by zero and NaN are results here, not warnings; scalars become arrays."""

    def quiet(*arguments: Floats) -> Floats:
        with np.errstate(all="ignore"):
            return function(*(np.asarray(a, np.float32) for a in arguments))

    quiet.__doc__ = function.__doc__
    return quiet


def _horner(x: Floats, coefficients: tuple[float, ...]) -> Floats:
    """((c0 x + c1) x + ...) + cn."""
    p = np.broadcast_to(f32(coefficients[0]), x.shape)
    for c in coefficients[1:]:
        p = p * x + f32(c)
    return p


def _horner64(x: Doubles, coefficients: tuple[float, ...]) -> Doubles:
    p = np.broadcast_to(np.float64(coefficients[0]), x.shape)
    for c in coefficients[1:]:
        p = p * x + c
    return p


def fmax(a: Floats | f32, b: Floats | f32) -> Floats:
    """a > b ? a : b."""
    return np.where(a > b, a, b)


def fmin(a: Floats | f32, b: Floats | f32) -> Floats:
    """a < b ? a : b."""
    return np.where(a < b, a, b)


def maximum(a: Floats | f32, b: Floats | f32) -> Floats:
    """a > b ? a : b, but NaN where one is NaN."""
    return np.where((a > b) | np.isnan(a), a, b)


def minimum(a: Floats | f32, b: Floats | f32) -> Floats:
    """a < b ? a : b, but NaN where one is NaN."""
    return np.where((a < b) | np.isnan(a), a, b)


EXP = (1.38131424e-3, 8.36941879e-3, 4.1668456e-2, 0.166665152, 0.49999994)
LOG = (-7.63442963e-2, 0.127615497, -0.131601945, 0.142017618, -0.166233569, 0.200012267, -0.250008225, 0.333333313)
TANH = (-5.89515036e-3, 2.07959637e-2, -5.37838265e-2, 0.133319244, -0.333332986)
ERF = (-5.99940424e-4, 4.99483012e-3, -2.67677195e-2, 0.112818457, -0.376124978, 0.128379151)
ERFC = (2.0909556e-5, -4.32303001e-4, 4.16052714e-3, -2.50914972e-2, 0.108236618, 0.633386672, 1.12949514, -1.70552026e-4)


@_ieee
def exp(x: Floats) -> Floats:
    c = fmin(x, f32(89.0))
    b = fmax(c, f32(-88.0))
    n = (b * f32(1.44269504) + f32(12582912.0)) - f32(12582912.0)
    r = (b - n * f32(0.693359375)) + n * f32(2.12194440e-4)
    y = ((r * r) * _horner(r, EXP) + r) + f32(1.0)
    whole = n.astype(np.int32) + 256
    half = whole >> 1
    e = (y * ((half - 1) << 23).view(np.float32)) * ((whole - half - 1) << 23).view(np.float32)
    return np.where(np.isnan(x), x, np.where(x < f32(-87.33), f32(0.0), e))


@_ieee
def log(x: Floats) -> Floats:
    tiny = x < f32(1.17549435e-38)
    normal = np.where(tiny, x * f32(8388608.0), x)
    u = normal.view(np.uint32) + np.uint32(0x004AFB0D)
    e = (u >> np.uint32(23)).astype(np.float32) - np.where(tiny, f32(150.0), f32(127.0))
    f = ((u & np.uint32(0x7FFFFF)) + np.uint32(0x3F3504F3)).view(np.float32) - f32(1.0)
    s = f * f
    y = (((s * f) * _horner(f, LOG) - e * f32(2.12194440e-4)) - f32(0.5) * s) + f
    r = y + e * f32(0.693359375)
    k = np.where(x == 0, -INFINITY, np.where(x > 0, np.where(x < INFINITY, r, x), NAN))
    return np.where(np.isnan(x), x, k)


@_ieee
def sigmoid(x: Floats) -> Floats:
    return f32(1.0) / (f32(1.0) + exp(-x))


@_ieee
def tanh(x: Floats) -> Floats:
    a = np.abs(x)
    s = a * a
    small = (a * s) * _horner(s, TANH) + a
    big = f32(1.0) - f32(2.0) / (exp(a + a) + f32(1.0))
    return np.copysign(np.where(a < f32(0.6), small, big), x)


@_ieee
def erf(x: Floats) -> Floats:
    b = fmin(np.abs(x), f32(4.0))
    small = b * _horner(b * b, ERF) + b
    big = f32(1.0) - exp(-_horner(b, ERFC))
    return np.where(np.isnan(x), x, np.copysign(np.where(b < f32(0.9), small, big), x))


def _log64(x: Doubles) -> Doubles:
    u = x.view(np.uint64) + np.uint64(0x00095F619980C434)
    e = (u >> np.uint64(52)).astype(np.float64) - 1023.0
    m = ((u & np.uint64(0xFFFFFFFFFFFFF)) + np.uint64(0x3FE6A09E667F3BCC)).view(np.float64)
    t = (m - 1.0) / (m + 1.0)
    return (t + t) * _horner64(t * t, tuple(1.0 / n for n in range(19, 0, -2))) + e * 0.693147180559945309


def _exp64(x: Doubles) -> Doubles:
    n = (x * 1.44269504088896341 + 6755399441055744.0) - 6755399441055744.0
    r = (x - n * 0.693147182464599609375) + n * 1.90465429995776804525e-9
    factorials = np.cumprod([1.0, *range(1, 13)])[::-1]
    return _horner64(r, tuple(1.0 / factorials)) * ((n.astype(np.int64) + 1023) << 52).view(np.float64)


@_ieee
def power(x: Floats, y: Floats) -> Floats:
    x, y = np.broadcast_arrays(x, y)
    a = np.abs(x)
    whole = np.rint(y) == y
    odd = whole & (np.rint(y * f32(0.5)) != y * f32(0.5))
    base = np.where((a > 0) & (a < INFINITY), a, f32(1.0)).astype(np.float64)
    t = y.astype(np.float64) * _log64(base)
    b = np.where(t < 256.0, t, 256.0)
    r = _exp64(np.where(b > -256.0, b, -256.0)).astype(np.float32)
    r = np.where(a == INFINITY, np.where(y > 0, INFINITY, f32(0.0)), r)
    r = np.where(a == 0, np.where(y > 0, f32(0.0), INFINITY), r)
    r = np.where(odd & np.signbit(x), -r, r)
    r = np.where((x < 0) & (a < INFINITY) & ~whole, NAN, r)
    r = np.where((a == 1) & (np.abs(y) == INFINITY), f32(1.0), r)
    r = np.where(np.isnan(x) | np.isnan(y), NAN, r)
    return np.where((y == 0) | (x == 1), f32(1.0), r)


TWO_OVER_PI = np.array([0, 0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB], np.uint64)
SINE = tuple(sign / n for sign, n in ((1, 6227020800.0), (-1, 39916800.0), (1, 362880.0), (-1, 5040.0), (1, 120.0), (-1, 6.0)))
COSINE = tuple(sign / n for sign, n in ((1, 479001600.0), (-1, 3628800.0), (1, 40320.0), (-1, 720.0), (1, 24.0), (-1, 2.0)))


def _reduce(x: Floats) -> tuple[Doubles, NDArray[np.uint64]]:
    """|x| = (4 k + q) pi/2 + r: (r, q)."""
    u = (x.view(np.uint32) & np.uint32(0x7FFFFFFF)).astype(np.uint64)
    exponent = u >> np.uint64(23)
    start = np.where(exponent < 104, 104, exponent).astype(np.uint64) - np.uint64(88)
    word, shift = start // np.uint64(32), start % np.uint64(32)
    word = np.minimum(word, 5)  # infinities are replaced by the caller
    mantissa = (u & np.uint64(0x7FFFFF)) | np.uint64(0x800000)
    low32, high = np.uint64(0xFFFFFFFF), np.uint64(32)
    w = [((((TWO_OVER_PI[word + i] << high) | TWO_OVER_PI[word + i + 1]) >> (high - shift)) & low32) for i in range(3)]
    product = ((mantissa * w[0]) << high) + mantissa * w[1] + ((mantissa * w[2]) >> high)
    q = (product + np.uint64(1 << 61)) >> np.uint64(62)
    fraction = product << np.uint64(2)
    top = (fraction >> high).astype(np.uint32).view(np.int32).astype(np.float64)
    r = (top * 2.0**-32 + (fraction & low32).astype(np.float64) * 2.0**-64) * 1.57079632679489662
    tiny = exponent < 104
    return np.where(tiny, np.abs(x).astype(np.float64), r), np.where(tiny, np.uint64(0), q)


def _sine(x: Floats, quarters: int) -> Floats:
    finite = np.isfinite(x)
    r, q = _reduce(np.where(finite, x, f32(0.0)))
    turn = np.where(np.signbit(x), 2, 0) if quarters == 0 else quarters
    q = (q + np.asarray(turn).astype(np.uint64)) & np.uint64(3)
    s = r * r
    sine = r * (_horner64(s, SINE) * s) + r
    cosine = _horner64(s, COSINE) * s + 1.0
    y = np.where(q & np.uint64(1), cosine, sine)
    return np.where(finite, np.where(q & np.uint64(2), -y, y).astype(np.float32), NAN)


@_ieee
def sin(x: Floats) -> Floats:
    return _sine(x, 0)


@_ieee
def cos(x: Floats) -> Floats:
    return _sine(x, 1)


@_ieee
def sqrt(x: Floats) -> Floats:
    return np.sqrt(x)


@_ieee
def rint(x: Floats) -> Floats:
    return np.rint(x)


@_ieee
def floor(x: Floats) -> Floats:
    return np.floor(x)


@_ieee
def ceil(x: Floats) -> Floats:
    return np.ceil(x)
