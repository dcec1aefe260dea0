"""Clips that say no more than the codes after them do: they are left out of an exported model.

ONNX Runtime up to 1.30 takes such a Clip for part of the convolution before it, and then refuses the model that it made itself.
"""

from __future__ import annotations

import numpy as np

from edgec.ir.graph import Graph, Node

_ENDS = np.finfo(np.float32)


def without_saturated_clips(graph: Graph) -> Graph:
    """The same graph, but that a QuantizeLinear which saturates at a Clip's bounds, its only reader, reads what the Clip did."""
    found = [(node, reader) for node in graph.nodes if (reader := _reader(graph, node)) and _says_no_more(graph, node, reader)]
    if not found:
        return graph
    graph = graph.copy()
    places = {node.outputs[0]: node for node in graph.nodes}
    for clip, reader in found:
        graph.rewire(places[reader.outputs[0]], [clip.inputs[0], *reader.inputs[1:]])
        graph.remove([places[clip.outputs[0]]])
    return graph


def _reader(graph: Graph, node: Node) -> Node | None:
    """The QuantizeLinear that alone reads this Clip's output."""
    if node.op != "Clip" or node.outputs[0] in graph.outputs or graph.reader_count(node.outputs[0]) != 1:
        return None
    (reader,) = graph.readers(node.outputs[0])
    return reader if reader.op == "QuantizeLinear" else None


def _says_no_more(graph: Graph, clip: Node, reader: Node) -> bool:
    """Whether the codes of both bounds are the ends of the codes' range; what is NaN becomes the same code either way."""
    scale, zero_point = (graph.constant(reader.input(place)) for place in (1, 2))
    bounds = [graph.constant(clip.input(place)) if clip.input(place) else end for place, end in ((1, _ENDS.min), (2, _ENDS.max))]
    if scale is None or zero_point is None or scale.size != 1 or any(bound is None for bound in bounds):
        return False
    codes = np.iinfo(zero_point.dtype)
    low, high = (np.rint(np.float64(bound) / np.float64(scale)) + np.float64(zero_point) for bound in bounds)
    return bool(low <= codes.min and high >= codes.max)
