"""Rows of a matrix that are what the windows over an image see, as ConvInteger becomes them: the geometry of these windows, found again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from edgec.ir.graph import Graph, Node

ROWS = ("Transpose", "Reshape", "Gather")  # what makes them of a flat image, the last move first


@dataclass(frozen=True)
class Windows:
    """Of an image [batch, channels, ...], padded already: the value `name`. moves: how many make rows of it; sizes: of the result."""

    name: str
    moves: int
    image: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def attributes(self) -> dict[str, object]:
        """Of a Conv."""
        named = {"kernel_shape": self.kernel, "strides": self.strides, "dilations": self.dilations}
        return {"group": 1, "pads": [0] * 2 * len(self.kernel), **{name: list(values) for name, values in named.items()}}

    def weights(self, matrix: np.ndarray) -> np.ndarray:
        """[channel and tap, out] as [out, channel, ...]."""
        return matrix.T.reshape(matrix.shape[1], self.image[1], *self.kernel)


def windows_of(graph: Graph, moves: Sequence[Node]) -> Windows | None:
    """What these moves, the last one first, make rows of; None where they do something else."""
    if tuple(move.op for move in moves[: len(ROWS)]) != ROWS:
        return None
    turned, rows, gather = moves[: len(ROWS)]
    flat = moves[len(ROWS)] if len(moves) > len(ROWS) and moves[len(ROWS)].op == "Reshape" else None  # a line is flat
    name = gather.inputs[0] if flat is None else flat.inputs[0]
    image, places = graph.types[name], graph.constant(gather.inputs[1])
    if not image.is_static or len(image.shape) not in (3, 4) or places is None or places.ndim != 2 or not places.size:
        return None
    shape = image.static_shape
    (batch, channels), (taps, count) = shape[:2], places.shape
    made = {
        gather.inputs[0]: (batch, channels, prod(shape[2:])),
        gather.outputs[0]: (batch, channels, taps, count),
        rows.outputs[0]: (batch, channels * taps, count),
    }
    if turned.attributes["perm"] != [0, 2, 1] or any(graph.shape(value) != wanted for value, wanted in made.items()):
        return None
    found = _geometry(shape[2:], places)
    return Windows(name, len(ROWS) + (flat is not None), shape, *found) if found is not None else None


def _geometry(spatial: tuple[int, ...], places: np.ndarray) -> tuple[tuple[int, ...], ...] | None:
    """Kernel, strides, dilations and sizes of windows that see these pixels of the flat image, [tap, place of the result]."""
    if places.min() < 0 or places.max() >= prod(spatial):
        return None
    kernel, dilations = _steps(np.unravel_index(places[:, 0], spatial))
    sizes, strides = _steps(np.unravel_index(places[0], spatial))
    fits = [(n - (k - 1) * d - 1) // s + 1 == size for n, k, d, s, size in zip(spatial, kernel, dilations, strides, sizes, strict=True)]
    if not all(fits) or (prod(kernel), prod(sizes)) != places.shape:
        return None
    taps, pixels = (np.indices(extents).reshape(len(spatial), -1) for extents in (kernel, sizes))
    coordinates = taps[:, :, None] * np.reshape(dilations, (-1, 1, 1)) + pixels[:, None] * np.reshape(strides, (-1, 1, 1))
    alike = np.array_equal(np.ravel_multi_index(tuple(coordinates), spatial), places)
    return (kernel, strides, dilations, sizes) if alike else None


def _steps(coordinates: Sequence[np.ndarray]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """By axis how many places there are, and how far apart the first two."""
    found = [np.unique(places) for places in coordinates]
    return tuple(len(places) for places in found), tuple(int(places[1] - places[0]) if len(places) > 1 else 1 for places in found)
