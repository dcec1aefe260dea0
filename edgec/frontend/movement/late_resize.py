"""Resize by scales or a part of the image that are computed while the model runs, where the file declares how large the result is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgec.base.budget import spend_constant
from edgec.frontend.movement.blend import CROP, REACH
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value, keys, operand
from edgec.frontend.translation.source import Source
from edgec.ops.legal import check_attributes
from edgec.ops.rules import axis_of

FIRST = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor", "antialias": 0}  # of Upsample, and of Resize in set 10


@dataclass(frozen=True)
class Side:
    """One axis: its extents, and what the model computes for it: the scale and where the part of the image begins and ends, each [1]."""

    size: int
    out: int
    index: Value
    scale: Value
    start: Value | None = None
    end: Value | None = None


def _half(side: Side) -> Value:
    return (side.index + 0.5) / side.scale - 0.5


def _cropped(side: Side) -> Value:
    assert side.start is not None and side.end is not None
    if side.out == 1:
        return side.index + (side.start + side.end) * ((side.size - 1) / 2)
    return side.start * (side.size - 1) + side.index * ((side.end - side.start) * ((side.size - 1) / (side.out - 1)))


POSITIONS: dict[str, Callable[[Side], Value]] = {
    "half_pixel": _half,
    "pytorch_half_pixel": lambda side: _half(side) if side.out > 1 else side.index,
    "half_pixel_symmetric": lambda side: _half(side) + (side.size / 2 - (side.size / 2 * side.out / side.size) / side.scale),
    "align_corners": lambda side: side.index * ((side.size - 1) / max(side.out - 1, 1)),
    "asymmetric": lambda side: side.index / side.scale,
    CROP: _cropped,
}
NEAREST: dict[str, Callable[[Value], Value]] = {
    "round_prefer_floor": lambda x: (x - 0.5).of("Ceil"), "round_prefer_ceil": lambda x: (x + 0.5).of("Floor"),
    "floor": lambda x: x.of("Floor"), "ceil": lambda x: x.of("Ceil"),
}  # fmt: skip


def resized_late(b: Builder, s: Source, shape: tuple[int, ...]) -> bool:
    """Whether it could be: linear and cubic of floats alone."""
    x, rank = operand(b, s, 0), len(shape)
    old = s.op == "Upsample" or s.version < 11
    attributes = {**s.attributes, **FIRST} if old else s.attributes
    check_attributes("Resize", attributes)
    if len(x.shape) != rank or (attributes["mode"] != "nearest" and (not x.dtype.is_float or attributes["mode"] not in REACH)):
        return False
    axes = [axis_of(axis, rank) for axis in s.get("axes") or range(rank)]
    transform, outside = attributes["coordinate_transformation_mode"], None
    for place, axis in reversed(list(enumerate(axes))):
        side = _side(b, s, 1 if old else 2, x.shape[axis], shape[axis], place, len(axes))
        if side.size == side.out == 1:
            continue
        position = POSITIONS[transform](side)
        x = _along(x, axis, side, position, attributes)
        if transform == CROP:
            beyond = position.of("Less", position.number(0)).of("Or", position.number(side.size - 1).of("Less", position))
            beyond = beyond.reshaped(*(side.out if d == axis else 1 for d in range(rank)))
            outside = beyond if outside is None else outside.of("Or", beyond)
    (x if outside is None else outside.chosen(x.number(attributes["extrapolation_value"]), x)).end()
    return True


def _side(b: Builder, s: Source, scales: int, size: int, out: int, place: int, count: int) -> Side:
    spend_constant(out * 4, s.where)
    known = operand(b, s, 0).constant(np.arange(out, dtype=np.float32))
    given = s.input(scales) and b.shape(s.input(scales)) != (0,)
    scale = operand(b, s, scales).cut(0, place, place + 1) if given else known.numbers(np.array([out / size]))
    if s.op == "Upsample" or s.version < 11 or not s.input(1) or b.shape(s.input(1)) == (0,):
        return Side(size, out, known, scale)
    roi = operand(b, s, 1).cast("float32")
    return Side(size, out, known, scale, roi.cut(0, place, place + 1), roi.cut(0, count + place, count + place + 1))


def _along(x: Value, axis: int, side: Side, position: Value, attributes: dict[str, Any]) -> Value:
    if attributes["mode"] == "nearest":
        return x.taken(NEAREST[attributes["nearest_mode"]](position).cast("int32").clipped(0, side.size - 1), axis)
    reach, stretch = REACH[attributes["mode"]], position.number(1)
    count = 2 * reach
    if attributes.get("antialias") and side.out < side.size:
        stretch, count = side.scale.of("Min", stretch), int(2 * reach * side.size / side.out) + 2
    first = (position - position.number(reach) / stretch).of("Floor") + 1
    places = first.spread(1) + first.numbers(np.arange(count))
    distance = ((places - position.spread(1)) * stretch).of("Abs")
    weights = (1.0 - distance).of("Max", distance.number(0)) if reach == 1 else _keys(distance, attributes["cubic_coeff_a"])
    near = places.clipped(0, side.size - 1)
    if attributes.get("exclude_outside"):
        weights = near.of("Equal", places).chosen(weights, weights.number(0))
    if attributes.get("exclude_outside") or attributes.get("antialias"):
        weights = weights / weights.summed(1).spread(1)
    taken = x.taken(near.cast("int32").clipped(0, side.size - 1), axis)
    shape: Sequence[int] = (side.out, count, *[1] * (len(x.shape) - axis - 1))
    return (taken * weights.reshaped(*shape)).summed(axis + 1)


def _keys(distance: Value, a: float) -> Value:
    near, far = keys(distance, a)
    return distance.below(1, near, distance.below(2, far, distance.number(0)))
