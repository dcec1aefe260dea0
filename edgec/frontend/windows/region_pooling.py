"""RoiAlign and MaxRoiPool: regions of images, computed while the model runs, as samples, products with weights, or through masks."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value, operand
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.frontend.windows.sampling import Taps, rows_of, sampled, taps

NEAR = 6  # samples of a cell, more than half a pixel apart, that may lie less than a pixel from one


@dataclass(frozen=True)
class Side:
    """Where each region begins on one axis of the image, of `extent` pixels, and its size, both [regions]; it has `cells` there."""

    start: Value
    size: Value
    cells: int
    extent: int

    def along(self, *axes: int) -> tuple[Value, Value]:
        """Where each cell begins, and its size, with axes of extent 1 behind regions and cells."""
        start, size = (value.spread(1, *(axis + 2 for axis in axes)) for value in (self.start, self.size / self.cells))
        cells = size.numbers(np.arange(self.cells).reshape(-1, *[1] * len(axes)))
        return start + size * cells, size


@rule("RoiAlign")
def roi_align(b: Builder, s: Source) -> None:
    """Regions (x1, y1, x2, y2); each of their cells is the mean, or the largest weighed pixel, of samples in a square."""
    x, rois, images = (operand(b, s, index) for index in range(3))
    cells, count, mode = (s.attributes["output_height"], s.attributes["output_width"]), s.attributes["sampling_ratio"], s.attributes["mode"]
    if mode not in ("avg", "max") or len(x.shape) != 4 or rois.shape[1:] != (4,) or min(*cells, count + 1) < 1:
        raise ModelError(f"regions {list(rois.shape)} of {list(x.shape)} as {mode} of {count} x {count} samples do not fit together")
    if not count and mode == "max":
        raise ModelError("as the largest of samples whose number depends on the region is not supported", hint="give sampling_ratio")
    spend_constant(8 * (sum(cells) + 2 * count), s.where)
    half = s.version >= 16 and s.attributes["coordinate_transformation_mode"] == "half_pixel"
    scaled = rois * s.attributes["spatial_scale"]
    scaled = scaled - 0.5 if half else scaled
    sides = [_side(scaled, axis, half, cells[axis], x.shape[2 + axis]) for axis in range(2)]
    chosen = x.constant(np.arange(x.shape[0], dtype=np.int32)).taken(images, 0)
    if not count:
        _meaned(x, chosen, *map(_weights, sides)).end()
        return
    rows, columns = (_samples(side, count, mode, 1 - axis) for axis, side in enumerate(sides))
    result = sampled(rows_of(x), chosen.spread(1, 2), [rows, columns], {"avg": "ReduceSum", "max": "ReduceMax"}[mode])
    result.turned(0, 3, 1, 2).end()


def _side(rois: Value, axis: int, half: bool, cells: int, extent: int) -> Side:
    """Without half_pixel no region is smaller than a pixel."""
    start = rois.at(1, 1 - axis)
    size = rois.at(1, 3 - axis) - start
    return Side(start, size if half else size.of("Max", size.number(1)), cells, extent)


def _samples(side: Side, count: int, mode: str, behind: int) -> Taps:
    """The pixels that the samples of each cell see on one axis; for the mean they weigh less, far beyond the image nothing."""
    start, size = side.along(0)
    position = start + (size * size.numbers(np.arange(count) + 0.5)) / count
    found = taps(position.clipped(0, side.extent - 1), side.extent, "linear")
    assert found.weights is not None
    weights = found.weights / count if mode == "avg" else found.weights
    weights = _is_beyond(position, side.extent).spread(-1).chosen(weights.number(0), weights)
    regions, shape = side.start.shape[0], (side.cells, 1) if behind else (1, side.cells)
    places, weights = (value.reshaped(regions, *shape, 2 * count) for value in (found.places, weights))
    return Taps(side.extent, places, weights)


def _is_beyond(position: Value, extent: int) -> Value:
    return position.of("Less", position.number(-1)).of("Or", position.number(extent).of("Less", position))


def _weights(side: Side) -> Value:
    """[regions, cells, extent]: what each pixel weighs in the mean of as many samples as a cell is large, rounded up.

    Of the samples only those near a pixel are looked at, from the first one on that may be.
    """
    start, size = side.along(0, 1)
    count = size.of("Ceil")
    least = count.of("Max", count.number(1))
    step, pixel = size / least, size.numbers(np.arange(side.extent).reshape(-1, 1))
    first = ((pixel - start - 1) / step - 0.5).of("Floor").of("Max", size.number(0)).of("Min", least - 1)
    number = first + first.numbers(np.arange(NEAR))
    position = start + (number + 0.5) * step
    tent = (1.0 - (position.clipped(0, side.extent - 1) - pixel).of("Abs")).of("Max", size.number(0))
    exists = number.of("Less", count).of("And", _is_beyond(position, side.extent).of("Not"))
    return exists.chosen(tent, tent.number(0)).summed(3) / least.reshaped(side.start.shape[0], 1, 1)


def _meaned(x: Value, chosen: Value, rows: Value, columns: Value) -> Value:
    """Weights of rows, times the image that each region is of, times weights of columns."""
    (n, c, height, width), (regions, cells, _) = x.shape, rows.shape
    lines = x.turned(0, 2, 1, 3).reshaped(n, height, c * width)
    if n == 1:
        y = rows.reshaped(regions * cells, height).of("MatMul", lines.reshaped(height, c * width))
    else:
        y = rows.of("MatMul", lines.taken(chosen, 0))
    y = y.reshaped(regions, cells * c, width).of("MatMul", columns.turned(0, 2, 1))
    return y.reshaped(regions, cells, c, columns.shape[1]).turned(0, 2, 1, 3)


@rule("MaxRoiPool")
def max_roi_pool(b: Builder, s: Source) -> None:
    """Regions (image, x1, y1, x2, y2) of whole pixels; the largest of each cell, 0 of one that holds none."""
    x, rois, cells = operand(b, s, 0), operand(b, s, 1), s.attributes["pooled_shape"]
    if len(x.shape) != 4 or rois.shape[1:] != (5,) or len(cells) != 2 or min(cells) < 1:
        raise ModelError(f"regions {list(rois.shape)} of {list(x.shape)} in {cells} cells do not fit together")
    spend_constant(8 * sum(cells), s.where)
    chosen = x.constant(np.arange(x.shape[0], dtype=np.int32)).taken(rois.at(1, 0).cast("int64"), 0)
    scaled = rois * s.attributes["spatial_scale"]
    away = (scaled.of("Abs") + 0.5).of("Floor") * scaled.of("Sign")
    sides = []
    for axis in range(2):
        start, end = away.at(1, 2 - axis), away.at(1, 4 - axis)
        sides.append(Side(start, (end - start + 1).of("Max", start.number(1)), cells[axis], x.shape[2 + axis]))
    (rows, some_rows), (columns, some_columns) = map(_mask, sides)
    lowest = x.number(-inf)
    y = rows.spread(1, -1).chosen(x.taken(chosen, 0).spread(2), lowest).summed(3, op="ReduceMax")
    y = columns.spread(1, 2).chosen(y.spread(3), lowest).summed(4, op="ReduceMax")
    some_rows.spread(1, 3).of("And", some_columns.spread(1, 2)).chosen(y, y.number(0)).end()


def _mask(side: Side) -> tuple[Value, Value]:
    """[regions, cells, extent], whether a pixel lies in a cell, and [regions, cells], whether any does."""
    start, size = side.start.spread(1), (side.size / side.cells).spread(1)
    cells = np.arange(side.cells)
    low = ((size * size.numbers(cells)).of("Floor") + start).clipped(0, side.extent)
    high = ((size * size.numbers(cells + 1)).of("Ceil") + start).clipped(0, side.extent)
    pixel = size.numbers(np.arange(side.extent))
    inside = pixel.of("Less", high.spread(2)).of("And", pixel.of("Less", low.spread(2)).of("Not"))
    return inside, low.of("Less", high)
