"""Samples between the pixels of images, at places that are computed: a Gather of rows of channels, weights, and a sum.

A sum over one axis is what no quantization takes: places and weights stay in float.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value, keys, operand
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source

FAR = 8  # pixels beyond an image where none of its pixels are near
CUBIC = -0.75
STEPS = {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}  # from the pixel below to those that a sample sees
MODES = {"bilinear": "linear", "bicubic": "cubic"}  # what opset 16 calls them


@dataclass(frozen=True)
class Taps:
    """The pixels that samples see on one axis of `size`, along a last axis: places on it, what they weigh (None: 1), and which are none."""

    size: int
    places: Value
    weights: Value | None = None
    inside: Value | None = None


def taps(position: Value, size: int, mode: str, padding: str = "border", align: bool = False) -> Taps:
    """Of positions in pixels. padding: what stands beyond the ends; `align`: an image that is mirrored ends at its last pixel's center."""
    steps = STEPS[mode]
    below = position.of("Floor")
    place = below.cast("int32").spread(-1)
    place = place + place.constant(np.array(steps, np.int32))
    weights = None if mode == "nearest" else _weights((position - below).spread(-1), mode)
    if padding == "reflection":
        return Taps(size, _mirrored(place, size, align), weights)
    near = place.clipped(0, size - 1)
    return Taps(size, near, weights, near.of("Equal", place) if padding == "zeros" else None)


def _weights(fraction: Value, mode: str) -> Value:
    """Of the tent, or of Keys' kernel, at the distances of the pixels."""
    distance = (fraction - fraction.numbers(np.array(STEPS[mode]))).of("Abs")
    if mode == "linear":
        return 1.0 - distance
    return distance.below(1, *keys(distance, CUBIC))


def _mirrored(place: Value, size: int, align: bool) -> Value:
    """At the borders of the outer pixels, or at their centers."""
    whole = 2 * (size - 1) if align else 2 * size
    if not whole:
        return place * 0
    rest = place.of("Mod", place.number(whole), fmod=0)
    return rest.of("Min", (whole if align else whole - 1) - rest)


def sampled(rows: Value, image: Value, axes: Sequence[Taps], how: str = "ReduceSum") -> Value:
    """[..., channels] of rows [images * pixels, channels]: what `how` makes of the pixels that each sample sees.

    image: the number of each sample's image, of as many axes as the samples or broadcasting to them.
    """
    index, weights, inside = image.spread(-1), None, None
    for axis in axes:
        index = _crossed(index * axis.size, axis.places, "Add")
        weights = axis.weights if weights is None else _crossed(weights, axis.weights, "Mul") if axis.weights is not None else weights
        inside = axis.inside if inside is None else _crossed(inside, axis.inside, "And") if axis.inside is not None else inside
    found = rows.taken(index, 0)
    if inside is not None:
        found = inside.spread(-1).chosen(found, found.number(0))
    if weights is not None:
        found = found * weights.spread(-1)
    return found.summed(len(found.shape) - 2, op=how)


def _crossed(first: Value, second: Value, op: str) -> Value:
    """Each of the last axis of one with each of the other's, as one axis."""
    whole = first.spread(-1).of(op, second.spread(-2))
    return whole.reshaped(*whole.shape[:-2], prod(whole.shape[-2:]))


def rows_of(x: Value) -> Value:
    """[n, c, ...] -> [n * pixels, c]"""
    n, c, *image = x.shape
    return x.turned(0, *range(2, len(x.shape)), 1).reshaped(n * prod(image), c)


@rule("GridSample")
def grid_sample(b: Builder, s: Source) -> None:
    """A grid says for each sample where it lies in the image, from -1 to 1, the last axis first."""
    x, grid = operand(b, s, 0), operand(b, s, 1)
    (n, _, *image), rank, align = x.shape, len(x.shape) - 2, bool(s.get("align_corners", 0))
    mode, padding = MODES.get(s.attributes["mode"], s.attributes["mode"]), s.attributes["padding_mode"]
    if mode not in STEPS or padding not in ("zeros", "border", "reflection"):
        raise ModelError(f"mode {mode!r} with padding_mode {padding!r} does not exist")
    if len(grid.shape) != rank + 2 or grid.shape[0] != n or grid.shape[-1] != rank or not image:
        raise ModelError(f"the grid {list(grid.shape)} does not fit data {list(x.shape)}")
    places = [_position(grid.at(-1, rank - 1 - axis), size, mode, padding, align) for axis, size in enumerate(image)]
    found = [taps(place, size, mode, padding, align) for place, size in zip(places, image, strict=True)]
    images = x.constant(np.arange(n, dtype=np.int32).reshape(n, *[1] * rank))
    y = sampled(rows_of(x), images, found)
    y.turned(0, rank + 1, *range(1, rank + 1)).end()


def _position(grid: Value, size: int, mode: str, padding: str, align: bool) -> Value:
    """In pixels; beyond the image it is brought inside as the padding says, or where nothing of it is near."""
    c = (grid + 1) / 2 * (size - 1) if align else ((grid + 1) * size - 1) / 2
    c = c.of("Round") if mode == "nearest" else c
    low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
    if padding == "zeros" or (mode, padding) == ("cubic", "border"):  # each of its pixels is brought inside, as PyTorch does
        return c.clipped(-FAR, size + FAR)
    if padding == "border":
        return c.below(low, c.number(0), c.number(high).of("Less", c).chosen(c.number(size - 1), c))
    if high == low:
        return c * 0
    away, whole = (c - low).of("Abs"), 2 * (high - low)
    rest = away - (away / whole).of("Floor") * whole
    return (high - low) - (rest - (high - low)).of("Abs") + low


@rule("AffineGrid")
def affine_grid(b: Builder, s: Source) -> None:
    """The grid that matrices make of one that is even: of centers of pixels, or from the first one's to the last one's.

    There a single pixel is the first one, of which ONNX Runtime makes the last.
    """
    theta, (n, _, *image) = operand(b, s, 0), b.known(s, 1, "the size")
    rank = len(image)
    if theta.shape != (n, rank, rank + 1) or rank not in (2, 3) or min(image) < 1:
        raise ModelError(f"matrices {list(theta.shape)} do not fit an image {image}")
    spend_constant(prod(image) * (rank + 1) * 8, s.where)
    aligned = bool(s.get("align_corners", 0))
    if aligned and 1 in image:
        b.misread.append(s.where)
    ends = [1 if aligned else 1 - 1 / size for size in image]
    places = [np.linspace(-end, end, size) for end, size in zip(ends, image, strict=True)]
    even = np.stack([*np.meshgrid(*places, indexing="ij")[::-1], np.ones(image)], -1)
    products = theta.reshaped(n, *[1] * rank, rank, rank + 1) * theta.numbers(even[..., None, :])
    products.summed(rank + 2).end()
