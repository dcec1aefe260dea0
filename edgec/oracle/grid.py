"""Quantization parameters and the arithmetic of clauses 2, 3 and 7 of docs/int8.md."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
f32 = np.float32
LARGEST_MULTIPLIER = f32(2.0**64)


@dataclass(frozen=True)
class Grid:
    """A value's parameters, of 8 or 16 bits by the type: q stands for (q - zero) * scale."""

    scale: np.float32
    zero: int
    dtype: np.dtype[Any]

    @property
    def is_wide(self) -> bool:
        return self.dtype.itemsize == 2

    @property
    def low(self) -> int:
        return int(np.iinfo(self.dtype).min)

    @property
    def high(self) -> int:
        return int(np.iinfo(self.dtype).max)


def quantize(x: Array, grid: Grid) -> Array:
    """Clause 2."""
    with np.errstate(all="ignore"):
        v = np.rint(x.astype(np.float32) * (f32(1) / grid.scale))
    return settle(np.where(np.isnan(v), f32(0), v), grid, grid.low, grid.high)


def dequantize(q: Array, grid: Grid) -> Array:
    """Clause 3."""
    with np.errstate(all="ignore"):  # a scale near the largest float overflows, as it does in C
        x: Array = centred(q, grid) * grid.scale
    return x


def centred(q: Array, grid: Grid, dtype: Any = np.float32) -> Array:
    """q - zero, exactly."""
    x: Array = q.astype(dtype) - np.asarray(grid.zero, dtype)
    return x


def settle(v: Array, grid: Grid, low: int, high: int) -> Array:
    """clamp(rint(v), low - zero, high - zero) + zero."""
    v = np.asarray(np.rint(v))
    np.clip(v, f32(low - grid.zero), f32(high - grid.zero), out=v)
    v += f32(grid.zero)
    return v.astype(grid.dtype)


def requantize(q: Array, source: Grid, target: Grid) -> Array:
    """Clause 7. A target of another storage type has another zero point, or saturates, by the same formula."""
    if source == target:
        return q
    with np.errstate(over="ignore"):
        m = source.scale / target.scale
    return settle(centred(q, source) * m, target, target.low, target.high)


def usable(*multipliers: Any) -> bool:
    """Whether no multiplier is so large that products overflow (clause 11)."""
    return all(bool(np.all(np.asarray(m) <= LARGEST_MULTIPLIER)) for m in multipliers)


def exact(value: Any) -> Fraction:
    """A binary32 number as a fraction."""
    return Fraction(float(value))
