"""Equalize the channels of activations, so that one scale fits them all.

A convolution that writes v' = v / r has its rows divided by r, one that reads it has its columns times r, and the float function stays
as it is; see edgec/quant/channels/streams.py for who may have which r.
With r proportional to each channel's own range the noise of the shared scale is the least that any choice gives:
it minimizes max(range / r)^2 * sum(r^2 |column|^2).

Clip(0, b) becomes one of bounds b / r, one for each channel. What is stored in 8 bits needs the least of them only: its range ends there.
A channel that goes further on other data than on the samples is then cut, so it matters there which magnitudes the factors follow.
Behind a function that does not commute with factors, as Swish, stands a multiplication by 1 / r for each channel: a kernel that computes
the function of its sums has that in the multiplier which makes codes of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.quant.channels.features import even_features, find_features, finite, select_even
from edgec.quant.channels.streams import Streams, bounded, find_streams, functions_of, marked
from edgec.quant.scope.coverage import Selection, select


@dataclass(frozen=True)
class Equalization:
    """factors: r of every channel (float32) of every value that can have one; streams: whose factor each is, by the name of the stream.

    free, bounded: the streams in the order of the graph, those through a Clip apart.
    """

    factors: Mapping[str, np.ndarray]
    streams: Mapping[str, np.ndarray]
    free: tuple[str, ...]
    bounded: tuple[str, ...]

    def taken(self, names: Collection[str]) -> dict[str, np.ndarray]:
        """The factors when only the streams `names` are equalized; values that stay as they are do not appear."""
        wanted = sorted(names)
        chosen = {value: np.where(np.isin(self.streams[value], wanted), r, np.float32(1)) for value, r in self.factors.items()}
        return {value: r for value, r in chosen.items() if (r != 1).any()}

    def through(self, values: Collection[str]) -> list[str]:
        """Which of the free streams go through any of these values."""
        found = {name for value in values if value in self.factors for name in self.streams[value][self.factors[value] != 1]}
        return [name for name in self.free if name in found]


@dataclass(frozen=True)
class Evenness:
    """strength: 1 equalizes fully, 0 not at all; between, it spares the weights, whose columns become as uneven as the channels were.

    apart: the same where only depthwise convolutions read a stream, whose weights have a scale for each channel: nothing is to be spared.
    narrowest: of the widest channel's range: emptier channels are not blown up further.
    """

    strength: float
    apart: float
    narrowest: float = 1 / 64


def choose_factors(graph: Graph, widths: Mapping[str, np.ndarray], evenness: Evenness, functions: Collection[str] = ()) -> Equalization:
    """Factors for all streams. widths: per value the magnitude of each channel; functions: see find_streams."""
    streams, held = find_streams(graph, functions)
    roots, cut = streams.roots(), bounded(graph, streams)
    width, widest = np.zeros(streams.count), np.zeros(streams.count)
    for value in streams.start:
        if value in widths:
            np.maximum.at(width, roots[streams.cells(value)], widths[value])
    for value in streams.start:  # a value's channels share one scale, so they are measured against its widest channel
        cells = roots[streams.cells(value)]
        np.maximum.at(widest, cells, width[cells].max(initial=0.0))
    relative = np.maximum(width / np.where(widest > 0, widest, 1), evenness.narrowest)
    taken = np.where(read_apart(graph, streams), relative**evenness.apart, relative**evenness.strength)
    wanted = np.where(held | (widest == 0), 1.0, taken).astype(np.float32)
    names = streams.names()
    factors = {value: wanted[roots[streams.cells(value)]] for value in streams.start}
    factors = {value: r for value, r in factors.items() if (r != 1).any()}
    owners = {value: names[roots[streams.cells(value)]] for value in factors}
    order = list(dict.fromkeys(name for value, r in factors.items() for name in owners[value][r != 1]))
    through = set(names[cut])
    free, cut_off = (tuple(name for name in order if (name in through) == kind) for kind in (False, True))
    return Equalization(factors, owners, free, cut_off)


def read_apart(graph: Graph, streams: Streams) -> np.ndarray:
    """For each root whether depthwise convolutions read its stream, and no others."""
    readers = [node for node in graph.nodes if node.op == "Conv" and node.inputs[0] in streams.start]
    depthwise = {node.inputs[0] for node in readers if node.attributes.get("group", 1) == streams.channels[node.inputs[0]]}
    return np.asarray(marked(streams, depthwise) & ~marked(streams, {node.inputs[0] for node in readers} - depthwise))


def store_equalized(
    graph: Graph, factors: Mapping[str, np.ndarray], exclude: Iterable[str], codes_out: bool, shaped: Collection[str] = ()
) -> Selection:
    """Rewrite the float graph, in place, as its layers store its values; those layers. What stays in float computes what it did."""
    exclude = tuple(exclude)
    if factors:
        apply_factors(graph, factors, stored=select(graph, exclude, codes_out=codes_out, shaped=shaped).produced)
    return select_even(graph, factors, exclude, codes_out, shaped)


def apply_factors(graph: Graph, factors: Mapping[str, np.ndarray], *, stored: Collection[str] = ()) -> None:
    """Rewrite weights, biases and bounds so that every value v of `factors` becomes v / r, in place. The function stays as it is.

    What has even features, convolutions may read or write as well, which know nothing of it. stored: values that nobody sees but in 8 bits
    over [0, the least bound]; a Clip that computes one stays one Clip.
    """
    features = find_features(graph).keys() if factors else ()
    channels = {value: r for value, r in factors.items() if value not in features}
    for node in graph if channels else ():
        if node.op == "Conv" and (node.inputs[0] in channels or node.outputs[0] in channels):
            scale_convolution(graph, node, channels.get(node.inputs[0]), channels.get(node.outputs[0]))
        elif node.op == "Clip" and node.inputs[0] in channels:
            scale_bounds(graph, node, channels[node.inputs[0]], node.outputs[0] in stored)
        elif not functions_of([node]).isdisjoint(channels):
            scale_result(graph, node, channels[node.outputs[0]])
    even_features(graph, factors)
    graph.touched()


def scale_bounds(graph: Graph, node: Node, factors: np.ndarray, stored: bool) -> None:
    """Clip(0, b) -> Clip(0, the least b / r), or Min(Clip(0, the largest b / r), b / r) with a bound for each channel."""
    value, bounds = node.outputs[0], finite(graph.constants[node.inputs[2]].astype(np.float64) / factors)
    bound = graph.add_constant(node.inputs[2], np.asarray(bounds.min() if stored else bounds.max(), np.float32))
    inner = value if stored else graph.fresh(f"{value}_unbounded")
    graph.rewire(node, [*node.inputs[:2], bound], [inner])
    if not stored:
        graph.types[inner] = graph.types[value]
        extents = (-1, *[1] * (len(graph.shape(value)) - 2))
        each = graph.add_constant(f"{value}_bounds", bounds.reshape(extents))
        graph.insert(Node("Min", [inner, each], [value], {}, f"{node.name}_bounds"), [graph.types[value]], after=node)


def scale_result(graph: Graph, node: Node, factors: np.ndarray) -> None:
    """f(x) -> f(x) / r."""
    value = node.outputs[0]
    inner = graph.fresh(f"{value}_uneven")
    graph.rewire(node, node.inputs, [inner])
    graph.types[inner] = graph.types[value]
    extents = (1, -1, *[1] * (len(graph.shape(value)) - 2))
    each = graph.add_constant(f"{value}_factors", finite(1 / factors.astype(np.float64)).reshape(extents))
    graph.insert(Node("Mul", [inner, each], [value], {}, f"{node.name}_factors"), [graph.types[value]], after=node)


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
            node.inputs[2] = graph.add_constant(node.inputs[2], finite(bias))
    node.inputs[1] = graph.add_constant(node.inputs[1], finite(weights))
