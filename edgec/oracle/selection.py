"""Operators that write to places or say places, in plain numpy."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from edgec.oracle.grid import Array
from edgec.oracle.model import Node
from edgec.oracle.window import window

REDUCTIONS = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def scattered(node: Node, data: Array, indices: Array, updates: Array) -> Array:
    """ScatterND: one update after the other, so the last of those that meet stays."""
    result = data.copy()
    places = tuple(np.moveaxis(indices, -1, 0))
    reduction = REDUCTIONS.get(node.get("reduction", "none"))
    with np.errstate(all="ignore"):
        if reduction is None:
            result[places] = updates
        else:
            reduction.at(result, places, updates)
    return result


def largest_of_windows(node: Node, x: Array) -> tuple[Array, Array]:
    """MaxPool with indices: of each window the first of the largest, or the first NaN, and its number in the tensor."""
    place = window(node, x.shape[2:], node.attributes["kernel_shape"])
    image = np.arange(prod(x.shape[2:])).reshape(1, 1, *x.shape[2:])
    found = np.full((*x.shape[:2], *place.out), -1)
    best = np.zeros(found.shape, x.dtype)
    for (_, under), (_, number) in zip(place.taps(x, x.dtype.type(0)), place.taps(image, -1), strict=True):
        wins = (number >= 0) & ((found < 0) | (under > best) | ((best == best) & (under != under)))
        best, found = np.where(wins, under, best), np.where(wins, number, found)
    planes = np.arange(prod(x.shape[:2])).reshape(*x.shape[:2], *[1] * (x.ndim - 2))
    return best, planes * image.size + found


def distinct(node: Node, x: Array) -> tuple[Array, Array, Array, Array]:
    """Unique: the elements or slices that differ, where each is first, which of them each is, and how many are alike."""
    axis = node.attributes.get("axis")
    data, along = (x.reshape(-1), 0) if axis is None else (x, int(axis))
    _, first, which, counts = np.unique(data, return_index=True, return_inverse=True, return_counts=True, axis=along)
    order = np.arange(first.size) if node.get("sorted", 1) else np.argsort(first)
    first, counts, which = first[order], counts[order], np.argsort(order)[which.reshape(-1)]
    return np.take(data, first, axis=along), first, which, counts


def suppressed(
    node: Node, boxes: Array, scores: Array, most: Array | None = None, threshold: Array | None = None, least: Array | None = None
) -> Array:  # fmt: skip
    """NonMaxSuppression in binary32: the order of operations is that of the emitted code."""
    found = []
    limit = np.float32(0) if threshold is None else threshold.reshape(-1)[0]
    corners = [_corners(sample, bool(node.get("center_point_box", 0))) for sample in boxes]
    for b, c in np.ndindex(*scores.shape[:2]):
        row = scores[b, c]
        order = np.lexsort((np.arange(row.size), -row, ~np.isnan(row)))
        kept: list[int] = []
        taken = np.empty_like(corners[b])  # the boxes of these
        for place in order if least is None else order[row[order] > least.reshape(-1)[0]]:
            if most is None or len(kept) >= most.reshape(-1)[0]:
                break
            box = corners[b][:, place : place + 1]
            if not _overlaps(box, taken[:, : len(kept)], limit).any():
                taken[:, len(kept)] = box[:, 0]
                kept.append(int(place))
        found += [(b, c, place) for place in kept]
    return np.array(found, np.int64).reshape(-1, 3)


def _corners(boxes: Array, centered: bool) -> Array:
    """[4, boxes]: the least and the largest number on one axis, then on the other."""
    ends: list[Array] = []
    for axis in (0, 1):
        one, other = boxes[:, axis], boxes[:, axis + 2]
        half = other * np.float32(0.5)
        ends += [one - half, one + half] if centered else [_less(one, other), _more(one, other)]
    return np.stack(ends)


def _less(a: Array, b: Array) -> Array:
    return np.where(b < a, b, a)


def _more(a: Array, b: Array) -> Array:
    return np.where(b < a, a, b)


def _overlaps(one: Array, other: Array, limit: np.floating[Any]) -> Array:
    with np.errstate(all="ignore"):
        sides = [(_more(one[a], other[a]), _less(one[a + 1], other[a + 1])) for a in (0, 2)]
        shared = (sides[0][1] - sides[0][0]) * (sides[1][1] - sides[1][0])
        areas = [(box[1] - box[0]) * (box[3] - box[2]) for box in (one, other)]
        both = areas[0] + areas[1] - shared
        positive = [low < high for low, high in (*sides, *((np.float32(0), size) for size in (*areas, shared, both)))]
        return np.asarray(np.logical_and.reduce(np.broadcast_arrays(*positive)) & (shared / both > limit))
