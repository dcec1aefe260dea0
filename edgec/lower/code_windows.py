"""Rows of a matrix that are what the windows over an image see, as ConvInteger becomes them: the geometry of these windows, found again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from edgec.ir.graph import Graph, Node

ROWS = ("Transpose", "Reshape", "Gather", "Reshape")  # what makes them of an image, the last move first


@dataclass(frozen=True)
class Windows:
    """Of an image [batch, channels, ...], padded already; sizes: of the result."""

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
    turned, rows, gather, flat = moves[: len(ROWS)]
    image, places = graph.types[flat.inputs[0]], graph.constant(gather.inputs[1])
    if not image.is_static or len(image.shape) not in (3, 4) or places is None or places.ndim != 2 or not places.size:
        return None
    shape = image.static_shape
    (batch, channels), (taps, count) = shape[:2], places.shape
    made = [(flat, (batch, channels, prod(shape[2:]))), (gather, (batch, channels, taps, count)), (rows, (batch, channels * taps, count))]
    if turned.attributes["perm"] != [0, 2, 1] or any(graph.shape(node.outputs[0]) != wanted for node, wanted in made):
        return None
    return _geometry(shape, places)


def _geometry(image: tuple[int, ...], places: np.ndarray) -> Windows | None:
    """Of windows that see these pixels of the flat image, [tap, place of the result]."""
    spatial = image[2:]
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
    return Windows(image, kernel, strides, dilations, sizes) if alike else None


def _steps(coordinates: Sequence[np.ndarray]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """By axis how many places there are, and how far apart the first two."""
    found = [np.unique(places) for places in coordinates]
    return tuple(len(places) for places in found), tuple(int(places[1] - places[0]) if len(places) > 1 else 1 for places in found)
