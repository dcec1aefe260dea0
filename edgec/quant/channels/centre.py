"""Centre the channels of linear streams: values that convolutions write and only sums and 1x1 convolutions read.

The zero point says where the middle of a whole value is; each channel has one of its own, and the range must hold all of them. Where no
function stands between who writes and who reads, the channel may be stored less its middle: the bias of the convolution that writes it is
that much less, those of the convolutions that read it make up for it, and a sum has the sum of the middles. The float function stays as it
is. A border of zeros would not, so a convolution that pads reads no such value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.quant.scope.patches import geometry

Middles = Mapping[str, np.ndarray]  # per channel, by value


def linear_values(graph: Graph) -> list[str]:
    """The values of linear streams in the order of the graph: results of convolutions, and sums of such."""
    found = {node.outputs[0]: node for node in graph.nodes if _writes(graph, node)}
    while outside := [value for value, node in found.items() if not _inside(graph, value, node, found)]:
        for value in outside:
            del found[value]
    return list(found)


def centred_convolutions(graph: Graph) -> list[str]:
    """Those of the values that convolutions write: their middles are ours to choose."""
    return [value for value in linear_values(graph) if _producer(graph, value).op == "Conv"]


def choose_centres(graph: Graph, middles: Middles) -> dict[str, np.ndarray]:
    """For each of these convolutions what its result is stored less (float32). middles: of all linear values as they are.

    Sums have what follows, so the middles of all values of a stream are met together, by least squares.
    """
    terms = _terms(graph)
    streams: list[set[str]] = []
    for of in terms.values():
        joined = set(of).union(*(stream for stream in streams if not stream.isdisjoint(of)))
        streams = [*(stream for stream in streams if stream.isdisjoint(of)), joined]
    found: dict[str, np.ndarray] = {}
    for stream in streams:
        convolutions = [value for value in terms if value in stream]
        values = [value for value, of in terms.items() if not stream.isdisjoint(of)]
        matrix = np.array([[terms[value].count(one) for one in convolutions] for value in values], np.float64)
        chosen = np.linalg.lstsq(matrix, np.stack([middles[value] for value in values]), rcond=None)[0]
        found |= {value: one.astype(np.float32) for value, one in zip(convolutions, chosen, strict=True)}
    return {value: found[value] for value in terms if value in found}


def middles_of(graph: Graph, centres: Middles) -> dict[str, np.ndarray]:
    """What each linear value is stored less, float64."""
    return {
        value: np.sum([np.asarray(centres[one], np.float64) for one in of], axis=0)
        for value, of in _terms(graph).items()
        if all(one in centres for one in of)
    }


def apply_centres(graph: Graph, centres: Middles) -> None:
    """Store linear values less their middles, in place. centres: of all results of convolutions among them, or none."""
    middles = middles_of(graph, centres) if centres else {}
    for node in list(graph.nodes) if middles else []:
        if node.op == "Conv" and (node.inputs[0] in middles or node.outputs[0] in middles):
            _move_bias(graph, node, middles.get(node.inputs[0]), middles.get(node.outputs[0]))
    graph.touched()


def _move_bias(graph: Graph, node: Node, read: np.ndarray | None, written: np.ndarray | None) -> None:
    weights = graph.constants[node.inputs[1]].astype(np.float64)
    bias = graph.constants[node.inputs[2]].astype(np.float64) if node.input(2) else np.zeros(len(weights))
    if read is not None:
        groups = int(node.attributes.get("group", 1))
        columns = read.reshape(groups, 1, -1)
        bias = bias + (weights.reshape(groups, len(weights) // groups, -1) * columns).sum(axis=2).ravel()
    if written is not None:
        bias = bias - written
    most = np.finfo(np.float32).max  # what goes beyond it stays a number
    name = graph.add_constant(node.input(2) or f"{node.outputs[0]}_bias", np.clip(bias, -most, most).astype(np.float32))
    graph.rewire(node, [*node.inputs[:2], name])


def _terms(graph: Graph) -> dict[str, list[str]]:
    """Of which results of convolutions each linear value is the sum."""
    found: dict[str, list[str]] = {}
    for value in linear_values(graph):
        node = _producer(graph, value)
        found[value] = [value] if node.op == "Conv" else [one for name in node.inputs for one in found[name]]
    return found


def _producer(graph: Graph, value: str) -> Node:
    node = graph.producer(value)
    assert node is not None
    return node


def _writes(graph: Graph, node: Node) -> bool:
    shape = graph.types[node.outputs[0]].static_shape if node.outputs[0] in graph.types else ()
    if len(shape) != 4 or shape[0] != 1 or node.outputs[0] in graph.outputs:
        return False
    return _is_convolution(graph, node) or (node.op == "Add" and len({graph.shape(name) for name in node.inputs}) == 1)


def _inside(graph: Graph, value: str, node: Node, found: Mapping[str, Node]) -> bool:
    """Whether what it is a sum of is linear, and what reads it goes on."""
    if node.op == "Add" and not all(name in found for name in node.inputs):
        return False
    readers: Sequence[Node] = graph.readers(value)
    sums = [reader for reader in readers if reader.op == "Add"]
    others = [reader for reader in readers if reader.op != "Add"]
    return bool(readers) and all(one.outputs[0] in found for one in sums) and all(_multiplies(graph, one, value) for one in others)


def _multiplies(graph: Graph, node: Node, value: str) -> bool:
    """Whether a convolution reads nothing but numbers of the value, each by itself."""
    if not _is_convolution(graph, node) or value in node.inputs[1:] or graph.constants[node.inputs[1]].shape[2:] != (1, 1):
        return False
    return not any(geometry(graph, node, 2)[2])


def _is_convolution(graph: Graph, node: Node) -> bool:
    constant = node.op == "Conv" and all(name in graph.constants for name in node.inputs[1:] if name)
    return constant and graph.constants[node.inputs[1]].ndim == 4
