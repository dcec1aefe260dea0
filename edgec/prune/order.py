"""In which order the channels of a stream can go: those first that the layers behind them miss least.

A stream is what some layers write together. What a reader misses when channels go, where the weights of those that stay make up for it as
well as they can: with P the inverse of the products of its input and S the products of its weights, channel c costs S[c, c] / P[c, c]
(LeCun's and Hassibi's surgeon, a channel at a time). P and S follow each removal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.prune.channels import FIXED, Cells
from edgec.prune.moments import RIDGE, Moments, weight_products

MOST_REMOVED = 0.75  # of a stream's channels: no layer is emptied for the others
STEPS = 32  # at most, from all channels to none


@dataclass(frozen=True)
class Stream:
    """Cells that the same layers write. layers: those, by their values."""

    layers: tuple[str, ...]
    cells: np.ndarray


@dataclass(frozen=True)
class Path:
    """steps: the cells that go in each step; errors: of all readers after each, as a share of what they compute (0 first)."""

    stream: Stream
    steps: tuple[np.ndarray, ...]
    errors: np.ndarray

    def gone(self, level: int) -> np.ndarray:
        return np.concatenate([np.zeros(0, np.int64), *self.steps[:level]])


def find_streams(cells: Cells) -> list[Stream]:
    """Of all cells that can go."""
    roots, writers = cells.roots(), dict[int, dict[str, None]]()
    for cell, birth in enumerate(cells.births):
        if roots[cell] != FIXED:
            writers.setdefault(int(roots[cell]), {})[birth] = None
    found = dict[tuple[str, ...], list[int]]()
    for root, births in writers.items():
        found.setdefault(tuple(births), []).append(root)
    return [Stream(layers, np.array(roots)) for layers, roots in found.items()]


def unit_of(count: int) -> int:
    """By how many cells a stream of `count` shrinks: kernels like multiples of 8 or 4."""
    least = 8 if count >= 48 else 4 if count >= 16 else 2 if count >= 8 else 1
    return -(-count // (STEPS * least)) * least


class _Reader:
    """What is left of a value that layers read, as cells go. columns: of each cell, its indices in the value."""

    def __init__(self, graph: Graph, nodes: Sequence[Node], moments: Moments, labels: np.ndarray) -> None:
        self.labels = labels
        products = [weight_products(graph, node, full=moments.full) for node in nodes]
        energies = [float((one * moments.products).sum()) for one in products]
        self.weights = sum(one / energy for one, energy in zip(products, energies, strict=True) if energy > 0) + np.zeros_like(products[0])
        self.full = moments.full
        variances = moments.variances + RIDGE * max(float(moments.variances.mean()), 1e-30)
        if self.full:
            stiff = moments.products.copy()
            np.fill_diagonal(stiff, variances)
            self.inverse = np.linalg.inv(stiff)
        else:
            self.inverse = 1 / variances

    def costs(self, count: int) -> np.ndarray:
        """Of each cell."""
        weights, inverse = (np.diagonal(one) if self.full else one for one in (self.weights, self.inverse))
        return np.bincount(self.labels, np.maximum(weights, 0) / np.maximum(inverse, 1e-300), count)

    def remove(self, gone: np.ndarray) -> float:
        """The error that it makes."""
        lost = np.flatnonzero(np.isin(self.labels, gone))
        if not self.full:
            return float((self.weights[lost] / self.inverse[lost]).sum())
        small = np.linalg.inv(self.inverse[np.ix_(lost, lost)])
        error = float((small * self.weights[np.ix_(lost, lost)]).sum())
        moved = self.inverse[:, lost] @ small
        self.inverse -= moved @ self.inverse[lost]
        self.weights -= moved @ self.weights[lost] + self.weights[:, lost] @ moved.T - moved @ self.weights[np.ix_(lost, lost)] @ moved.T
        # exact zeros, so that what is gone has no share in what comes
        for array in (self.inverse, self.weights):
            array[lost], array[:, lost] = 0.0, 0.0
        self.inverse[lost, lost] = 1.0
        return error


def find_path(
    graph: Graph, cells: Cells, roots: np.ndarray, stream: Stream, readers: Mapping[str, Sequence[Node]], moments: Mapping[str, Moments]
) -> Path:
    """readers: the layers that read each value."""
    labels = {value: roots[cells.of[value].cells] for value in readers}
    inside = [value for value in readers if np.isin(labels[value], stream.cells).any()]
    known = [_Reader(graph, readers[value], moments[value], labels[value]) for value in inside]
    holders = [roots[channels.cells] for channels in cells.of.values() if np.isin(roots[channels.cells], stream.cells).any()]
    count, unit = len(stream.cells), unit_of(len(stream.cells))
    left, steps, errors = stream.cells.copy(), list[np.ndarray](), [0.0]
    while True:
        size = len(left) % unit or unit
        if len(left) - size < max(unit, (1 - MOST_REMOVED) * count):
            break
        costs = np.sum([reader.costs(len(roots)) for reader in known], axis=0) if known else np.zeros(len(roots))
        ordered = left[np.argsort(costs[left], kind="stable")]
        gone = _sparing(ordered, size, holders)
        if len(gone) < size:
            break
        errors.append(errors[-1] + sum(max(reader.remove(gone), 0.0) for reader in known))
        steps.append(gone)
        left = left[~np.isin(left, gone)]
    return Path(stream, tuple(steps), np.array(errors))


def _sparing(ordered: np.ndarray, size: int, holders: Sequence[np.ndarray]) -> np.ndarray:
    """The first `size` of `ordered` without which every value that holds some of the stream still has another channel of it: its last."""
    place = np.full(max(int(labels.max()) for labels in (ordered, *holders)) + 1, -1)
    place[ordered] = np.arange(len(ordered))
    last = {int(place[labels].max()) for labels in holders} - {-1}
    return np.array([cell for order, cell in enumerate(ordered.tolist()) if order not in last][:size], np.int64)
