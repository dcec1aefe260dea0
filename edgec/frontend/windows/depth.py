"""Windows over three and more spatial axes, in terms of those over two.

Each position of a window on the first axis becomes an image of its own in the batch. A convolution takes the window's taps there as
channels; a pool goes over the last two axes first, and then over each other one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from edgec.base.budget import spend_constant
from edgec.frontend.translation.formula import Value
from edgec.ops.matrix import window_extent

Window = dict[str, Any]  # kernel_shape, strides, dilations, pads: all of them explicit
Move = Callable[[Value], Value]
IMAGE = 2  # spatial axes that the operators of a Graph have at most


def split(found: Window, axes: slice) -> Window:
    """The same for some of the spatial axes."""
    rank = len(found["kernel_shape"])
    parts = {name: value[axes] for name, value in found.items() if name != "pads"}
    return {**parts, "pads": [*found["pads"][:rank][axes], *found["pads"][rank:][axes]]}


def convolve(x: Value, w: Value, bias: str, found: Window, group: int, outputs: Sequence[str] | int = 1) -> Value:
    """Conv over any number of spatial axes."""
    if len(found["kernel_shape"]) <= IMAGE:
        return Value(x.b, x.s, x.b.emit(x.s, "Conv", [x.name, w.name, bias], outputs, {**found, "group": group})[0])
    (n, _, d, *_), k = x.shape, found["kernel_shape"][0]
    stride, dilation = found["strides"][0], found["dilations"][0]
    before, after = found["pads"][0], found["pads"][len(found["kernel_shape"])]
    count = window_extent(d, k, stride, dilation, before + after)
    spend_constant(count * k * 8, x.s.where)
    places = np.arange(count)[:, None] * stride + np.arange(k) * dilation
    stacked = _stacked(x.padded(2, before, after), places, group)
    m, c, _, *rest = w.shape
    matrix = _moved(w, lambda v, zero=0: v.turned(0, 2, 1, *range(3, len(v.shape))).reshaped(m, k * c, *rest), 0)
    y = convolve(stacked, matrix, bias, split(found, slice(1, None)), group)
    return _apart(y, n, count, outputs)


def convolve_transposed(x: Value, w: Value, bias: str, found: Window, group: int, outputs: Sequence[str] | int = 1) -> Value:
    """ConvTranspose over any number of spatial axes; `found` has output_padding too.

    Position o of an axis, counted with its padding, is stride * j + phase: it takes the taps k with k * dilation = phase + stride * t
    of the input's place j - t. So all phases together are one convolution whose channels are places, and its results' channels phases.
    """
    if len(found["kernel_shape"]) <= IMAGE:
        return Value(x.b, x.s, x.b.emit(x.s, "ConvTranspose", [x.name, w.name, bias], outputs, {**found, "group": group})[0])
    (n, _, d, *_), (channels, m, k, *rest) = x.shape, w.shape
    stride, dilation = found["strides"][0], found["dilations"][0]
    before, after = found["pads"][0], found["pads"][len(found["kernel_shape"])]
    reach = (k - 1) * dilation + 1
    extent, taps = (d - 1) * stride + found["output_padding"][0] + reach - before - after, -(-reach // stride)
    first = before // stride
    count = (before + max(extent, 1) - 1) // stride - first + 1
    spend_constant((count + stride) * taps * 8, x.s.where)
    lead, trail = max(0, taps - 1 - first), max(0, first + count - d)
    places = first + np.arange(count)[:, None] - np.arange(taps) + lead
    stacked = _stacked(x.padded(2, lead, trail), places, group)
    reached = np.arange(taps)[:, None] * stride + np.arange(stride)  # by tap and phase
    known = np.where((reached % dilation == 0) & (reached // dilation < k), reached // dilation, k)  # k: the zeros behind the weights

    def phases(v: Value, zero: float = 0) -> Value:
        parts = v.padded(2, 0, 1, zero).taken(known, 2).reshaped(group, channels // group, m, taps, stride, *rest)
        return parts.turned(0, 3, 1, 4, 2, *range(5, 5 + len(rest))).reshaped(group * taps * (channels // group), stride * m, *rest)

    matrix = _moved(w, phases, 1, lambda vector: _repeated(vector, 1, stride))
    vector = _repeated(Value(x.b, x.s, bias), group, stride).name if bias else ""
    y = convolve_transposed(stacked, matrix, vector, split(found, slice(1, None)), group)
    whole = y.reshaped(n, count, group, stride, m, *y.shape[2:])
    turned = whole.turned(0, 2, 4, 1, 3, *range(5, len(whole.shape))).reshaped(n, group * m, count * stride, *y.shape[2:])
    cut = turned.cut(2, before - first * stride, before - first * stride + extent)
    return Value(x.b, x.s, x.b.emit(x.s, "Identity", [cut.name], outputs)[0])


def _stacked(x: Value, places: np.ndarray, group: int) -> Value:
    """[n, c, d, ...] -> [n * positions, c * taps, ...], within each group by tap; `places`, by position and tap, are of axis 2."""
    n, c, _, *image = x.shape
    count, taps = places.shape
    y = x.taken(places, 2).reshaped(n, group, c // group, count, taps, *image)
    return y.turned(0, 3, 1, 4, 2, *range(5, len(y.shape))).reshaped(n * count, c * taps, *image)


def _apart(y: Value, n: int, count: int, outputs: Sequence[str] | int) -> Value:
    """[n * positions, c, ...] -> [n, c, positions, ...]"""
    apart = y.reshaped(n, count, *y.shape[1:])
    return Value(y.b, y.s, y.b.emit(y.s, "Transpose", [apart.name], outputs, {"perm": [0, 2, 1, *range(3, len(apart.shape))]})[0])


def _moved(w: Value, move: Callable[..., Value], axis: int, also: Move = lambda vector: vector) -> Value:
    """The weights moved. Codes are moved ahead of their DequantizeLinear, whose parameters by `axis` become `also` of them."""
    source = w.b.graph.producer(w.name, "DequantizeLinear")
    if source is None or source.inputs[0] not in w.b.graph.constants or source.attributes.get("block_size", 0):
        return move(w)
    codes, *parameters = (Value(w.b, w.s, name) for name in source.inputs)
    zero = w.b.value(parameters[1].name) if len(parameters) > 1 else np.zeros(1, np.int8)
    by_axis = parameters[0].shape not in ((), (1,))
    if zero is None or (zero != zero.flat[0]).any() or (by_axis and source.attributes.get("axis", 1) != axis):
        return move(w)
    moved = move(codes, int(zero.flat[0])) if zero.flat[0] else move(codes)
    return moved.of("DequantizeLinear", *((also(item) for item in parameters) if by_axis else parameters), axis=axis)


def _repeated(vector: Value, group: int, times: int) -> Value:
    """A vector by group and channel as one by group, phase and channel."""

    def move(v: Value, zero: float = 0) -> Value:
        numbers = np.arange(v.shape[0]).reshape(group, 1, -1)
        return v.taken(np.tile(numbers, (1, times, 1)).reshape(-1), 0)

    return _moved(vector, move, 0, move)


def pooled(x: Value, op: str, found: Window, attributes: dict[str, Any], outputs: Sequence[str] | int = 1) -> Value:
    """A pool over any number of spatial axes: its windows are boxes, and the counts that it divides by are products of those by axis."""

    def one(value: Value, part: Window, names: Sequence[str] | int = 1) -> Value:
        return Value(x.b, x.s, x.b.emit(x.s, op, [value.name], names, {**part, **attributes})[0])

    rank = len(found["kernel_shape"])
    if rank <= IMAGE:
        return one(x, found, outputs)
    n, c, *image = x.shape
    front = image[:-IMAGE]
    moved = x.turned(0, *range(2, rank), 1, rank, rank + 1).reshaped(n * prod(front), c, *image[-IMAGE:])
    y = one(moved, split(found, slice(rank - IMAGE, None)))
    y = y.reshaped(n, *front, c, *y.shape[2:]).turned(0, rank - 1, *range(1, rank - 1), rank, rank + 1)
    for axis in range(rank - IMAGE):
        part = split(found, slice(axis, axis + 1))
        part = {**{name: [value[0], 1] for name, value in part.items()}, "pads": [part["pads"][0], 0, part["pads"][1], 0]}
        shape = y.shape
        inner = y.reshaped(n, c * prod(shape[2 : 2 + axis]), shape[2 + axis], prod(shape[3 + axis :]))
        y = one(inner, part)
        y = y.reshaped(*shape[: 2 + axis], y.shape[2], *shape[3 + axis :])
    return Value(x.b, x.s, x.b.emit(x.s, "Identity", [y.name], outputs)[0])
