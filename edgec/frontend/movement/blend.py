"""Resize by pixels and weights that are known, where no operator of a Graph does it: antialiased, or of a part of the image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value, keys, operand
from edgec.frontend.translation.source import Source
from edgec.ops.places import POSITIONS, Axis, axis_at, axis_of, between, cubic_taps, nearest_of

CROP = "tf_crop_and_resize"
REACH = {"linear": 1, "cubic": 2}  # pixels that a kernel reaches to either side, at a scale of 1
Taps = tuple[np.ndarray, np.ndarray]  # pixels and what they weigh, both [out, taps]


ON = {"floor": "round_prefer_ceil", "round_prefer_floor": "ceil"}  # of a place, what they are of a place half a pixel before it


def placed(s: Source) -> Source:
    """Positions of tf_half_pixel_for_nn, which lie half a pixel behind those of half_pixel, as those, where a rounding makes up for it."""
    rounding = ON.get(s.get("nearest_mode", ""))
    if s.get("coordinate_transformation_mode") != "tf_half_pixel_for_nn" or s.get("mode") != "nearest" or rounding is None:
        return s
    return replace(s, attributes={**s.attributes, "coordinate_transformation_mode": "half_pixel", "nearest_mode": rounding})


def is_blended(attributes: dict[str, Any]) -> bool:
    return bool(attributes.get("antialias")) or attributes["coordinate_transformation_mode"] == CROP


def blended(
    b: Builder, s: Source, attributes: dict[str, Any], sizes: Sequence[int], axes: Sequence[int], scales: Sequence[Fraction | None]
) -> None:
    """Axis by axis, the last first. scales: those of the node, None where it gives sizes."""
    x = operand(b, s, 0)
    extents, mode = x.shape, attributes["mode"]
    if not x.dtype.is_float or (attributes.get("antialias") and mode not in REACH):
        raise ModelError(f"mode {mode} of {x.dtype.value} is not possible so", hint="cast to float32 before it and back behind it")
    outside = np.zeros([1] * len(extents), bool)
    for dim in sorted(axes, reverse=True):
        spend_constant(sizes[dim] * 16, s.where)
        axis, scale = _axis(b, s, attributes, dim, extents[dim], sizes[dim], axes, scales[dim]), scales[dim]
        if axis is None:
            continue
        whole = scale if scale is not None else Fraction(axis.out, axis.size)
        taps = _antialiased(axis, attributes, min(whole, Fraction(1))) if attributes.get("antialias") else _taps(axis, attributes)
        x = along(x, dim, *taps)
        if attributes["coordinate_transformation_mode"] == CROP:
            beyond = (axis.numerators < 0) | (axis.numerators > (axis.size - 1) * axis.denominator)
            outside = outside | beyond.astype(bool).reshape([-1 if d == dim else 1 for d in range(len(extents))])
    if outside.any():
        x = x.constant(outside).chosen(x.number(attributes["extrapolation_value"]), x)
    x.end()


def along(x: Value, dim: int, places: np.ndarray, weights: np.ndarray) -> Value:
    """Weighed sums of pixels of one axis."""
    taken = x.taken(places, dim)
    shape = [*weights.shape, *[1] * (len(x.shape) - dim - 1)]
    return (taken * x.numbers(weights.reshape(shape))).summed(dim + 1)


def _axis(
    b: Builder, s: Source, attributes: dict[str, Any], dim: int, size: int, out: int, axes: Sequence[int], scale: Fraction | None
) -> Axis | None:
    """None of an axis that stays as it is."""
    transform = attributes["coordinate_transformation_mode"]
    if transform in POSITIONS:
        return None if size == out and scale in (None, 1) else axis_of(dim, size, out, scale, transform)
    known = b.value(s.input(1))
    if known is None or known.size != 2 * len(axes):
        raise ModelError("needs a known roi for its axes", hint="make it a constant in the exporter")
    place = list(axes).index(dim)
    start, end = (Fraction(float(known[place + half * len(axes)])) * (size - 1) for half in range(2))
    slope = (end - start) / (out - 1) if out > 1 else Fraction(0)
    whole = out == size and start == 0 and end == size - 1
    return None if whole else axis_at(dim, size, out, slope, start if out > 1 else (start + end) / 2)


def _taps(axis: Axis, attributes: dict[str, Any]) -> Taps:
    if attributes["mode"] == "nearest":
        return nearest_of(axis, attributes["nearest_mode"]).reshape(-1, 1), np.ones((axis.out, 1))
    if attributes["mode"] == "linear":
        low, high, part = between(axis)
        return np.stack([low, high], 1), np.stack([1 - part, part], 1)
    found = cubic_taps(axis, attributes["cubic_coeff_a"], bool(attributes["exclude_outside"]))
    if found is None:
        raise ModelError("has taps inside the data whose weights sum to 0", hint="resize without exclude_outside")
    return found[0].T, found[1].T


def _antialiased(axis: Axis, attributes: dict[str, Any], scale: Fraction) -> Taps:
    """By a kernel that is stretched by 1 / scale, of a sum of 1; pixels outside are the edges, or left out."""
    center, reach = np.array(axis.numerators / axis.denominator, np.float64)[:, None], REACH[attributes["mode"]] / float(scale)
    count = int(2 * reach) + 2
    spend_constant(axis.out * count * 16, f"Resize of {axis.size} to {axis.out}")
    places = np.floor(center - reach) + np.arange(count)
    distance = np.abs(places - center) * float(scale)
    weights = np.maximum(1 - distance, 0) if attributes["mode"] == "linear" else _keys(distance, attributes["cubic_coeff_a"])
    if attributes["exclude_outside"]:
        weights = np.where((places >= 0) & (places < axis.size), weights, 0)
    total = weights.sum(axis=1, keepdims=True)
    if (total == 0).any():
        raise ModelError("has taps inside the data whose weights sum to 0", hint="resize without exclude_outside")
    return np.clip(places, 0, axis.size - 1).astype(np.int64), weights / total


def _keys(distance: np.ndarray, a: float) -> np.ndarray:
    near, far = keys(distance, a)
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0))
