"""Resize: coordinates in exact fractions, nearest as movement, linear in binary32 (clause 10)."""

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
    """Whether this is Resize in `mode` without cropping, cubic tails, antialiasing or a kept aspect ratio."""
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
