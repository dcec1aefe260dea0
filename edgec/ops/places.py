"""Where the elements of a resized axis come from, exactly, and what its neighbours weigh: whole numbers and fractions alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[Any]  # whole numbers: int64, or Python's where these may be larger
_HALF = Fraction(1, 2)
_EXACT = 1 << 52  # whole numbers below it are float64s too


def _half_pixel(scale: Fraction, size: int, out: int) -> tuple[Fraction, Fraction]:
    return 1 / scale, _HALF / scale - _HALF


def _symmetric(scale: Fraction, size: int, out: int) -> tuple[Fraction, Fraction]:
    slope, start = _half_pixel(scale, size, out)
    return slope, start + Fraction(size, 2) * (1 - Fraction(out) / (scale * size))


# (slope, start): the source position of output index i is start + slope i
POSITIONS: dict[str, Callable[[Fraction, int, int], tuple[Fraction, Fraction]]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _symmetric,
    "pytorch_half_pixel": lambda scale, size, out: _half_pixel(scale, size, out) if out > 1 else (Fraction(0), Fraction(0)),
    "align_corners": lambda scale, size, out: (Fraction(size - 1, out - 1) if out > 1 else Fraction(0), Fraction(0)),
    "asymmetric": lambda scale, size, out: (1 / scale, Fraction(0)),
}
# of a position n / d
NEAREST: dict[str, Callable[[Whole, int], Whole]] = {
    "round_prefer_floor": lambda n, d: -((d - 2 * n) // (2 * d)), "round_prefer_ceil": lambda n, d: (2 * n + d) // (2 * d),
    "floor": lambda n, d: n // d, "ceil": lambda n, d: -(-n // d),
}  # fmt: skip


@dataclass(frozen=True)
class Axis:
    """One resized axis: its extents and, for every output index, the exact source position, numerators / denominator."""

    dim: int
    size: int
    out: int
    numerators: Whole
    denominator: int


def axis_of(dim: int, size: int, out: int, scale: Fraction | None, transform: str) -> Axis:
    """scale: that of the node, None where it gives sizes."""
    return axis_at(dim, size, out, *POSITIONS[transform](Fraction(out, size) if scale is None else scale, size, out))


def axis_at(dim: int, size: int, out: int, slope: Fraction, start: Fraction) -> Axis:
    """Whose source position of output index i is start + slope i."""
    denominator = lcm(slope.denominator, start.denominator)
    step, first = int(slope * denominator), int(start * denominator)
    small = 4 * max(abs(first) + abs(step) * out, denominator * size) < _EXACT
    places = np.arange(out) if small else np.array(range(out), object)
    return Axis(dim, size, out, places * step + first, denominator)


def nearest_of(axis: Axis, rule: str) -> Whole:
    """Which element each output index takes."""
    return np.asarray(np.clip(NEAREST[rule](axis.numerators, axis.denominator), 0, axis.size - 1))


def between(axis: Axis) -> tuple[Whole, Whole, np.ndarray]:
    """For each output index the two neighbours, and how far from the first to the second it lies; outside is clamped to the edge."""
    clamped = np.clip(axis.numerators, 0, (axis.size - 1) * axis.denominator)
    low = np.minimum(clamped // axis.denominator, max(axis.size - 2, 0))
    return low, np.minimum(low + 1, axis.size - 1), ((clamped - low * axis.denominator) / axis.denominator).astype(np.float32)


def cubic_taps(axis: Axis, coefficient: float, exclude_outside: bool) -> tuple[Whole, np.ndarray] | None:
    """For each output index [4, out] the taps of Keys' kernel, and their weights, float32; None where those inside sum to 0.

    Taps outside are clamped to the edge, or left out with exclude_outside, and the weights of the others scaled to the sum 1.
    """
    a, unit = Fraction(float(np.float32(coefficient))), axis.denominator
    base = axis.numerators // unit
    fraction = (axis.numerators - base * unit).astype(object)
    weights = np.stack([_keys(abs(fraction - k * unit), unit, a) for k in range(-1, 3)])
    places = np.stack([base + k for k in range(-1, 3)])
    if exclude_outside:
        weights = np.where((places >= 0) & (places < axis.size), weights, 0)
    total = weights.sum(axis=0)
    if not total.all():
        return None
    return np.clip(places, 0, axis.size - 1), np.stack([(row / total + 0.0).astype(np.float32) for row in weights])


def _keys(x: Whole, unit: int, a: Fraction) -> Whole:
    """Keys' cubic convolution kernel at distances x / unit of 0 to 2, times the denominator of a and unit^3: whole numbers."""
    p, q = a.as_integer_ratio()
    near = (p + 2 * q) * x**3 - (p + 3 * q) * unit * x**2 + q * unit**3
    far = p * (x**3 - 5 * unit * x**2 + 8 * unit**2 * x - 4 * unit**3)
    return np.asarray(np.where(x <= unit, near, far))
