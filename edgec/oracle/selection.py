"""Operators that write to places or say places, in plain numpy."""

from __future__ import annotations

from math import prod

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
