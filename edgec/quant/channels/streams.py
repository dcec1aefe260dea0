"""Streams: the values whose channels can only be scaled together.

When v = r * v' holds channel by channel (r > 0), operators that commute with a positive factor per channel (Relu, PRelu with constant
slopes, Clip(0, b) with bounds b / r, pooling, Resize, Add of two such values, Concat) tie what they write to what they read; a
convolution does not, since its rows and columns take any factor, whether it computes in integers or in float. Nor does a function that is
computed of a convolution's sums: what it gives is multiplied there before it is stored. Where all ends of a stream are such, r is ours to
choose.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import numpy as np

from edgec.integer.roles import role_of
from edgec.ir.graph import Graph, Node
from edgec.ops.registry import Role
from edgec.quant.channels.features import feature_counts

CURVED = frozenset({"Gelu", "HardSigmoid", "HardSwish", "Swish"})  # functions of sums that do not commute with factors
COMMUTING = frozenset({"Relu", "LeakyRelu", "PRelu", "MaxPool", "GlobalMaxPool", "AveragePool", "GlobalAveragePool", "Identity"})


@dataclass
class Streams:
    """Union-find over (value, channel) numbers: `start[value]` is the number of its channel 0."""

    start: dict[str, int] = field(default_factory=dict)
    channels: dict[str, int] = field(default_factory=dict)
    parent: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    def add(self, value: str, channels: int) -> None:
        self.start[value], self.channels[value] = self.count, channels
        self.parent = np.concatenate([self.parent, np.arange(self.count, self.count + channels)])

    @property
    def count(self) -> int:
        return len(self.parent)

    def cells(self, value: str) -> slice:
        """The channels of `value` among all."""
        return slice(self.start[value], self.start[value] + self.channels[value])

    def roots(self, cells: np.ndarray | slice = slice(None)) -> np.ndarray:
        """The root of every channel, or of some; it is the first of all that are united with it."""
        found = self.parent[cells]
        while ((above := self.parent[found]) != found).any():
            found = above
        return found

    def names(self) -> np.ndarray:
        """The value that each channel belongs to; that of its root names a stream."""
        return np.repeat(np.array(list(self.start), object), list(self.channels.values()))

    def unite(self, first: str, second: str, offset: int = 0) -> None:
        """Channel c of `second` scales like channel c + offset of `first`."""
        channels = np.arange(self.channels[second])
        pair = np.stack([self.start[first] + offset + channels, self.start[second] + channels])
        while ((roots := self.roots(pair))[0] != roots[1]).any():
            np.minimum.at(self.parent, roots.max(axis=0), roots.min(axis=0))
        self.parent[pair] = roots


def channel_values(graph: Graph) -> dict[str, int]:
    """The computed values that have channels on axis 1, and how many; not those that are features, see edgec/quant/channels/features.py."""
    features = feature_counts(graph)
    ranked = {
        value: kind.static_shape
        for value, kind in graph.types.items()
        if value not in graph.constants and value not in features and kind.dtype.is_float
    }
    return {value: shape[1] for value, shape in ranked.items() if len(shape) in (3, 4) and shape[0] == 1}


def find_streams(graph: Graph, functions: Collection[str] = ()) -> tuple[Streams, np.ndarray]:
    """The streams, and for each root whether its factor must stay 1. functions: results of functions that may have any factor."""
    streams = Streams()
    for value, count in channel_values(graph).items():
        streams.add(value, count)
    fixed = set(graph.inputs) | set(graph.outputs)
    for node in graph.nodes:
        fixed |= tie(graph, node, streams, functions)
    return streams, marked(streams, fixed)


def functions_of(nodes: Iterable[Node]) -> set[str]:
    """What those of these nodes give whose results a factor can only be had behind."""
    return {node.outputs[0] for node in nodes if node.op in CURVED}


def marked(streams: Streams, values: Collection[str]) -> np.ndarray:
    """For each root whether a channel of `values` belongs to it."""
    found, roots = np.zeros(streams.count, bool), streams.roots()
    for value in streams.start:
        if value in values:
            found[roots[streams.cells(value)]] = True
    return found


def bounded(graph: Graph, streams: Streams) -> np.ndarray:
    """For each root whether its stream goes through a Clip."""
    return marked(streams, {node.outputs[0] for node in graph.nodes if rectifier(graph, node)})


def tie(graph: Graph, node: Node, streams: Streams, functions: Collection[str] = ()) -> set[str]:
    """Unite what `node` ties together; returns the values that it holds fixed. functions: see find_streams."""
    data = [name for name in node.inputs if name and name not in graph.constants]
    outputs = [name for name in node.outputs if name]
    known = all(name in streams.start for name in [*data, *outputs])
    if node.op == "Conv" and role_of(graph, node)[0] is Role.MATRIX:
        return set()
    if known and not functions_of([node]).isdisjoint(functions):
        return set(data)
    if known and (node.op in COMMUTING or rectifier(graph, node) or resizes(node, streams)) and len(data) == len(outputs) == 1:
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


def resizes(node: Node, streams: Streams) -> bool:
    """Resize that leaves channels as they are, and puts nothing of its own where it looks outside."""
    if node.op != "Resize" or node.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        return False
    return streams.channels[node.inputs[0]] == streams.channels[node.outputs[0]]
