"""Resize: coordinates in exact fractions, nearest as movement, linear and cubic in binary32 (clause 10)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, floor

import numpy as np

from edgec.oracle.context import Context, Run
from edgec.oracle.grid import Array
from edgec.oracle.model import Node, integers

HALF = Fraction(1, 2)

# Source coordinate of output index i, for scale s, extents a (in) and b (out).
COORDINATES: dict[str, Callable[[int, Fraction, int, int], Fraction]] = {
    "half_pixel": lambda i, s, a, b: (i + HALF) / s - HALF,
    "half_pixel_symmetric": lambda i, s, a, b: Fraction(a, 2) * (1 - b / (a * s)) + (i + HALF) / s - HALF,
    "pytorch_half_pixel": lambda i, s, a, b: (i + HALF) / s - HALF if b > 1 else Fraction(0),
    "align_corners": lambda i, s, a, b: Fraction(i * (a - 1), b - 1) if b > 1 else Fraction(0),
    "asymmetric": lambda i, s, a, b: i / s,
}
NEAREST: dict[str, Callable[[Fraction], int]] = {
    "round_prefer_floor": lambda x: ceil(x - HALF), "round_prefer_ceil": lambda x: floor(x + HALF), "floor": floor, "ceil": ceil,
}  # fmt: skip


def _plain(node: Node, mode: str) -> bool:
    """Whether this is Resize in `mode` without cropping, antialiasing or a kept aspect ratio."""
    known = node.get("coordinate_transformation_mode", "half_pixel") in COORDINATES and not node.get("antialias", 0)
    return node.get("mode", "nearest") == mode and known and node.get("keep_aspect_ratio_policy", "stretch") == "stretch"


def _axes(context: Context, node: Node, shape: tuple[int, ...]) -> list[tuple[int, int, list[Fraction]]]:
    """(axis, output extent, source coordinate of each output index) for every axis that changes."""
    axes = [axis % len(shape) for axis in node.get("axes") or range(len(shape))]
    scales, sizes = context.constant(node.input(2)), integers(context.constant(node.input(3)))
    coordinate = COORDINATES[node.get("coordinate_transformation_mode", "half_pixel")]
    found = []
    for i, axis in enumerate(axes):
        if sizes:
            extent, scale = sizes[i], Fraction(sizes[i], shape[axis])
        else:
            assert scales is not None
            factor = np.float32(scales.ravel()[i])
            extent, scale = int(np.floor(np.float32(shape[axis]) * factor)), Fraction(float(factor))
        if extent != shape[axis] or scale != 1:
            found.append((axis, extent, [coordinate(j, scale, shape[axis], extent) for j in range(extent)]))
    return found


def resize_nearest(context: Context, node: Node) -> Run | None:
    """Each output pixel is one input pixel; None for other modes."""
    if not _plain(node, "nearest"):
        return None
    choose = NEAREST[node.get("nearest_mode", "round_prefer_floor")]

    def run(x: Array, *_: Array | None) -> tuple[Array]:
        for axis, _extent, places in _axes(context, node, x.shape):
            last = x.shape[axis] - 1
            x = np.take(x, [min(max(choose(place), 0), last) for place in places], axis)
        return (x,)

    return run


def resize_linear(context: Context, node: Node) -> Run | None:
    """a + (b - a) * f along each axis that changes, the last axis first; f is the fraction rounded once to binary32."""
    if not _plain(node, "linear"):
        return None

    def run(x: Array, *_: Array | None) -> tuple[Array]:
        for axis, _extent, places in reversed(_axes(context, node, x.shape)):
            last = x.shape[axis] - 1
            inside = [min(max(place, Fraction(0)), Fraction(last)) for place in places]
            first = [min(floor(place), max(last - 1, 0)) for place in inside]
            part = np.array([np.float32(float(place - start)) for place, start in zip(inside, first, strict=True)], np.float32)
            a, b = np.take(x, first, axis), np.take(x, [min(i + 1, last) for i in first], axis)
            x = a + (b - a) * part.reshape([-1 if d == axis else 1 for d in range(x.ndim)])
        return (x,)

    return run


def resize_cubic(context: Context, node: Node) -> Run | None:
    """A sum of four products along each axis that changes, the last axis first; the weights are exact, then rounded once to binary32."""
    if not _plain(node, "cubic"):
        return None
    a = Fraction(float(np.float32(node.get("cubic_coeff_a", -0.75))))

    def run(x: Array, *_: Array | None) -> tuple[Array]:
        for axis, _extent, places in reversed(_axes(context, node, x.shape)):
            last = x.shape[axis] - 1
            taps = [[floor(place) + step for step in range(-1, 3)] for place in places]
            weights = [[_keys(abs(place - tap), a) for tap in row] for place, row in zip(places, taps, strict=True)]
            if node.get("exclude_outside", 0):
                weights = [_scaled_inside(*pair, last) for pair in zip(weights, taps, strict=True)]
            result: Array = np.zeros((), np.float32)
            for k in range(4):
                weight = np.array([float(row[k]) for row in weights], np.float32)
                pixel = np.take(x, [min(max(row[k], 0), last) for row in taps], axis)
                result = result + pixel * weight.reshape([-1 if d == axis else 1 for d in range(x.ndim)])
            x = result
        return (x,)

    return run


def _keys(distance: Fraction, a: Fraction) -> Fraction:
    """Keys' cubic convolution kernel, by Horner's rule."""
    if distance <= 1:
        return ((a + 2) * distance - (a + 3)) * distance**2 + 1
    return ((distance - 5) * distance + 8) * distance * a - 4 * a if distance < 2 else Fraction(0)


def _scaled_inside(weights: list[Fraction], taps: list[int], last: int) -> list[Fraction]:
    """The weights of pixels that exist, scaled to the sum 1."""
    kept = [weight if 0 <= tap <= last else Fraction(0) for weight, tap in zip(weights, taps, strict=True)]
    return [weight / sum(kept) for weight in kept]
