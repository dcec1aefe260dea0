"""Operators that onnx's reference computes wrongly, as ONNX defines them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np

from edgec.ir.loop import LOOP
from edgec.ops.places import POSITIONS, Axis, axis_of, between, cubic_taps, nearest_of
from edgec.ops.recurrent import CELLS

Inputs = Sequence[np.ndarray | None]


def local_response(attributes: Mapping[str, Any], inputs: Inputs) -> list[np.ndarray]:
    """LRN: the reference counts channels by the batch."""
    x = inputs[0]
    assert x is not None
    size = attributes["size"]
    before, channels = (size - 1) // 2, x.shape[1]
    wide = x.astype(np.float64) ** 2
    sums = np.stack([wide[:, max(0, c - before) : c - before + size].sum(axis=1) for c in range(channels)], axis=1)
    scale = attributes.get("bias", 1.0) + attributes.get("alpha", 1e-4) / size * sums
    return [np.asarray(x / scale ** attributes.get("beta", 0.75), x.dtype)]


def resize(attributes: Mapping[str, Any], inputs: Inputs) -> list[np.ndarray] | None:
    """Resize by exact places, where these are known: the reference's are rounded, and beside a whole number it may take the wrong pixel."""
    x, _, scales, sizes = (*inputs, None, None, None)[:4]
    mode, transform = attributes.get("mode", "nearest"), attributes.get("coordinate_transformation_mode", "half_pixel")
    unusual = attributes.get("antialias") or attributes.get("axes") or attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch"
    given = sizes if sizes is not None and sizes.size else scales
    if unusual or transform not in POSITIONS or x is None or given is None or len(given) != x.ndim or not x.size:
        return None
    if not (np.isfinite(given).all() and (given > 0).all()) or (mode != "nearest" and x.dtype.kind != "f"):
        return None
    factors = None if given is sizes else [Fraction(float(scale)) for scale in given]
    extents = given.tolist() if factors is None else [floor(size * scale) for size, scale in zip(x.shape, factors, strict=True)]
    result = x if mode == "nearest" else x.astype(np.float64)
    for dim, (size, out) in reversed(list(enumerate(zip(x.shape, extents, strict=True)))):
        scale = factors[dim] if factors else None
        if size != out or scale not in (None, 1):
            found = MODES[mode](axis_of(dim, size, out, scale, transform), attributes, result) if out else None
            if found is None:
                return None
            result = found
    return [result.astype(x.dtype)]


def _taken(axis: Axis, attributes: Mapping[str, Any], x: np.ndarray) -> np.ndarray:
    return np.take(x, nearest_of(axis, attributes.get("nearest_mode", "round_prefer_floor")).astype(np.int64), axis.dim)


def _between(axis: Axis, attributes: Mapping[str, Any], x: np.ndarray) -> np.ndarray:
    low, high, weights = between(axis)
    first, second = (np.take(x, place.astype(np.int64), axis.dim) for place in (low, high))
    with np.errstate(all="ignore"):
        return np.asarray(first + (second - first) * _along(axis, weights, x))


def _cubic(axis: Axis, attributes: Mapping[str, Any], x: np.ndarray) -> np.ndarray | None:
    taps = cubic_taps(axis, attributes.get("cubic_coeff_a", -0.75), bool(attributes.get("exclude_outside")))
    if taps is None:
        return None
    with np.errstate(all="ignore"):
        return np.asarray(
            sum(np.take(x, place.astype(np.int64), axis.dim) * _along(axis, row, x) for place, row in zip(*taps, strict=True))
        )


def _along(axis: Axis, weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    return weights.astype(np.float64).reshape([-1 if dim == axis.dim else 1 for dim in range(x.ndim)])


def resize_by_extents(attributes: Mapping[str, Any], inputs: Inputs) -> Inputs:
    """Resize by scales that aligns corners: the reference spreads over extents that are not rounded down yet, so they are given instead."""
    if attributes.get("coordinate_transformation_mode") != "align_corners" or len(inputs) != 3:
        return inputs
    x, _, scales = inputs
    assert x is not None and scales is not None
    sizes = [floor(extent * Fraction(float(scale))) for extent, scale in zip(x.shape, scales, strict=True)]
    return [x, None, None, np.array(sizes, np.int64)]


def softsign(attributes: Mapping[str, Any], inputs: Inputs) -> list[np.ndarray] | None:
    """Softsign of one number without axes, which the reference refuses."""
    (x,) = inputs
    return [np.asarray(x / (1 + np.abs(x)), x.dtype)] if x is not None and not x.ndim else None


def distinct(attributes: Mapping[str, Any], inputs: Inputs) -> list[np.ndarray] | None:
    """Unique in the order of the data, of slices along another axis than the first, along which the reference takes them."""
    axis = attributes.get("axis")
    if attributes.get("sorted", 1) or not axis:
        return None
    (x,) = inputs
    assert x is not None
    _, first, which, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
    order = np.argsort(first)
    places = np.argsort(order)[which.reshape(-1)]
    return [np.take(x, first[order], axis), *(array.astype(np.int64) for array in (first[order], places, counts[order]))]


def cropped(attributes: Mapping[str, Any], inputs: Inputs) -> Inputs:
    """Pad: where it takes some of the data away, the reference fails, so they are gone before."""
    x, pads = inputs[:2]
    assert x is not None and pads is not None
    if len(inputs) > 3 or len(pads) != 2 * x.ndim or not (pads < 0).any():
        return inputs
    ends = [(max(-int(first), 0), size - max(-int(last), 0)) for first, last, size in zip(pads, pads[x.ndim :], x.shape, strict=False)]
    return [x[tuple(slice(start, max(end, start)) for start, end in ends)], np.maximum(pads, 0), *inputs[2:]]


# What a mode makes of one axis
MODES: dict[str, Callable[[Axis, Mapping[str, Any], np.ndarray], np.ndarray | None]] = {
    "nearest": _taken, "linear": _between, "cubic": _cubic,
}  # fmt: skip
# None where the reference computes what ONNX defines
CORRECTED: dict[str, Callable[[Mapping[str, Any], Inputs], list[np.ndarray] | None]] = {
    "LRN": local_response, "Resize": resize, "Softsign": softsign, "Unique": distinct,
}  # fmt: skip
# What the reference computes wrongly, and nothing here instead: of recurrent cells it knows neither all functions nor directions, and it
# counts the places of the largest otherwise; of a ConvTranspose in groups it takes the wrong weights, and the bias of one for all.
# Packages compute them, of constants too, and loops, whose bodies are graphs of our own.
BEYOND = frozenset((*CELLS, "ConvTranspose", "MaxPool", LOOP))
# Operands with which the reference computes what ONNX defines
RESTATED: dict[str, Callable[[Mapping[str, Any], Inputs], Inputs]] = {"Resize": resize_by_extents, "Pad": cropped}
