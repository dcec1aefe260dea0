"""Equalize the channels of activations, so that one scale fits them all.

When v = r * v' holds channel by channel (r > 0), a matrix operator that writes v can write v' (its rows divided by r), one that
reads v can read v' (its columns times r), and operators that commute with a positive factor per channel (Relu, pooling, Add of two
such values, Concat) never notice. A *stream* is a set of values that such operators tie together; where all its ends are matrix
operators, r is ours to choose.
With r proportional to each channel's own range the noise of the shared scale is the least that any choice gives:
it minimizes max(range / r)^2 * sum(r^2 |column|^2).

Clip(0, b) belongs to a stream too when its bound becomes min(b / r): no channel is clipped later than before, and with r
proportional to the ranges none is clipped below its own range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.quant.selection import Selection

COMMUTING = frozenset({"Relu", "MaxPool", "AveragePool", "GlobalAveragePool", "Identity"})
NARROWEST = 1 / 64  # of the widest channel's range: emptier channels are not blown up further


@dataclass
class Streams:
    """Union-find over (value, channel) numbers: `start[value]` is the number of its channel 0."""

    start: dict[str, int] = field(default_factory=dict)
    channels: dict[str, int] = field(default_factory=dict)
    parent: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    def cells(self, value: str) -> np.ndarray:
        """The roots of all channels of `value`."""
        return np.array([self.root(cell) for cell in range(self.start[value], self.start[value] + self.channels[value])], np.int64)

    def root(self, cell: int) -> int:
        while self.parent[cell] != cell:
            self.parent[cell] = self.parent[self.parent[cell]]
            cell = int(self.parent[cell])
        return cell

    def unite(self, first: str, second: str, offset: int = 0) -> None:
        """Channel c of `second` scales like channel c + offset of `first`."""
        for channel in range(self.channels[second]):
            one, two = self.root(self.start[first] + offset + channel), self.root(self.start[second] + channel)
            self.parent[max(one, two)] = min(one, two)


def channel_values(graph: Graph) -> dict[str, int]:
    """The computed values that have channels on axis 1, and how many."""
    ranked = {value: kind.static_shape for value, kind in graph.types.items() if value not in graph.constants and kind.dtype.is_float}
    return {value: shape[1] for value, shape in ranked.items() if len(shape) in (3, 4) and shape[0] == 1}


def find_streams(graph: Graph, selection: Selection) -> tuple[Streams, np.ndarray]:
    """The streams, and for each cell whether its factor must stay 1."""
    streams = Streams()
    for value, count in channel_values(graph).items():
        streams.start[value], streams.channels[value] = sum(streams.channels.values()), count
    streams.parent = np.arange(sum(streams.channels.values()))
    fixed = set(graph.inputs) | set(graph.outputs)
    matrices = {layer.node.outputs[0] for layer in selection.matrices}
    for node in graph.nodes:
        fixed |= tie(graph, node, streams, node.outputs[0] in matrices)
    held = np.zeros(len(streams.parent), bool)
    for value in fixed & streams.start.keys():
        held[streams.cells(value)] = True
    return streams, held


def tie(graph: Graph, node: Node, streams: Streams, matrix: bool) -> set[str]:
    """Unite what `node` ties together; returns the values that it holds fixed."""
    data = [name for name in node.inputs if name and name not in graph.constants]
    outputs = [name for name in node.outputs if name]
    known = all(name in streams.start for name in [*data, *outputs])
    if matrix and node.op == "Conv":
        return set()
    if known and (node.op in COMMUTING or rectifier(graph, node)) and len(data) == len(outputs) == 1:
        streams.unite(outputs[0], data[0])
        return set()
    if known and node.op in ("Add", "Sub") and len(data) == 2 and graph.shape(data[0]) == graph.shape(data[1]):
        streams.unite(outputs[0], data[0])
        streams.unite(outputs[0], data[1])
        return set()
    if known and node.op == "Concat" and node.attributes.get("axis") == 1 and len(data) == len(node.inputs):
        offset = 0
        for name in node.inputs:
            streams.unite(outputs[0], name, offset)
            offset += streams.channels[name]
        return set()
    return {*data, *outputs}


def rectifier(graph: Graph, node: Node) -> bool:
    """Clip(0, b) with constant b > 0."""
    if node.op != "Clip" or not node.input(1) or not node.input(2):
        return False
    low, high = graph.constant(node.inputs[1]), graph.constant(node.inputs[2])
    return low is not None and high is not None and float(low) == 0.0 and float(high) > 0.0


def choose_factors(graph: Graph, selection: Selection, ranges: Mapping[str, np.ndarray], strength: float) -> dict[str, np.ndarray]:
    """The factor r of every channel (float32) of every value that a stream frees; values left as they are do not appear.

    ranges: per value the largest magnitude of each channel. strength: 1 equalizes fully, 0 not at all; between, it
    spares the weights, whose columns become as uneven as the channels were.
    """
    streams, held = find_streams(graph, selection)
    width = np.zeros(len(streams.parent))
    for value in streams.start:
        if value in ranges:
            np.maximum.at(width, streams.cells(value), ranges[value])
    factors: dict[str, np.ndarray] = {}
    widest: dict[int, float] = {}  # a value's channels share one scale, so they are measured against its widest channel
    for value in streams.start:
        cells = streams.cells(value)
        for cell in cells:
            widest[int(cell)] = max(widest.get(int(cell), 0.0), float(width[cells].max(initial=0.0)))
    for value in streams.start:
        cells = streams.cells(value)
        peak = np.array([widest[int(cell)] for cell in cells])
        relative = np.maximum(width[cells] / np.where(peak > 0, peak, 1), NARROWEST) ** strength
        wanted = np.where(held[cells] | (peak == 0), 1.0, relative).astype(np.float32)
        if (wanted != 1).any():
            factors[value] = wanted
    return factors


def apply_factors(graph: Graph, factors: Mapping[str, np.ndarray]) -> None:
    """Rewrite weights, biases and bounds of Clip so that every value v of `factors` becomes v / r, in place."""
    for node in graph.nodes:
        if node.op == "Conv" and (node.inputs[0] in factors or node.outputs[0] in factors):
            scale_convolution(graph, node, factors.get(node.inputs[0]), factors.get(node.outputs[0]))
        elif node.op == "Clip" and node.inputs[0] in factors:
            bound = graph.constants[node.inputs[2]]
            node.inputs[2] = graph.add_constant(node.inputs[2], np.asarray(np.min(bound / factors[node.inputs[0]]), np.float32))
    graph.touched()


def scale_convolution(graph: Graph, node: Node, read: np.ndarray | None, written: np.ndarray | None) -> None:
    """Columns times the factors of what it reads, rows and bias divided by those of what it writes."""
    weights = graph.constants[node.inputs[1]].astype(np.float64)
    if read is not None:
        groups = int(node.attributes.get("group", 1))
        columns = read.astype(np.float64).reshape(groups, 1, weights.shape[1])
        shaped = weights.reshape(groups, weights.shape[0] // groups, weights.shape[1], -1)
        weights = (shaped * columns[..., None]).reshape(weights.shape)
    if written is not None:
        weights = weights / written.astype(np.float64).reshape(-1, *[1] * (weights.ndim - 1))
        if node.input(2):
            bias = graph.constants[node.inputs[2]].astype(np.float64) / written
            node.inputs[2] = graph.add_constant(node.inputs[2], bias.astype(np.float32))
    node.inputs[1] = graph.add_constant(node.inputs[1], weights.astype(np.float32))
