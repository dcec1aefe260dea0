"""Errors that count behind the function that reads a value."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ops.evaluate import evaluate
from edgec.ops.registry import Role
from edgec.quant.ranges.observers import Histogram
from edgec.quant.scope.coverage import Selection

SMOOTH = frozenset({"Sigmoid", "Swish", "Tanh", "HardSigmoid", "HardSwish", "Gelu"})  # may also follow the last quantized layer in float


def see_through_tables(graph: Graph, selection: Selection, histograms: Mapping[str, Histogram]) -> None:
    """Where only one unary function reads a value, its error counts behind the function: what Swish maps to 0 needs no levels."""
    readers = {layer.operands[0]: layer.node for layer in selection.layers if layer.role is Role.TABLE}
    ends = {layer.node: layer.activation for layer in selection.layers if layer.role is Role.TABLE and layer.activation}
    readers |= {
        layer.node.outputs[0]: unary for layer in selection.matrices for unary in graph.readers(layer.node.outputs[0]) if unary.op in SMOOTH
    }
    for value, node in readers.items():
        if value in histograms and graph.reader_count(value) == 1:
            histogram = histograms[value]
            seen = histogram.centers.astype(np.float32)
            for function in _chain(graph, node, ends.get(node, node)):
                inputs = [graph.constants.get(name, seen) if name else None for name in function.inputs]
                seen = evaluate(function, inputs)[0].ravel()  # the constant may have any rank
            histogram.seen_as = seen.astype(np.float64) if np.isfinite(seen).all() else None


def _chain(graph: Graph, first: Node, last: Node) -> list[Node]:
    """The functions from `first` to `last`, each the only reader of the one before it."""
    found = [first]
    while found[-1] is not last:
        found += graph.readers(found[-1].outputs[0])[:1]
    return found
