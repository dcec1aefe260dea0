"""Errors that count behind the function that reads a value."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from edgec.ir.graph import Graph
from edgec.ops.evaluate import evaluate
from edgec.ops.registry import Role
from edgec.quant.observers import Histogram
from edgec.quant.selection import Selection

SMOOTH = frozenset({"Sigmoid", "Swish", "Tanh", "HardSigmoid", "HardSwish", "Gelu"})  # may also follow the last quantized layer in float


def see_through_tables(graph: Graph, selection: Selection, histograms: Mapping[str, Histogram]) -> None:
    """Where only one unary function reads a value, its error counts behind the function: what Swish maps to 0 needs no levels."""
    readers = {layer.operands[0]: layer.node for layer in selection.layers if layer.role is Role.TABLE}
    readers |= {
        layer.node.outputs[0]: unary for layer in selection.matrices for unary in graph.readers(layer.node.outputs[0]) if unary.op in SMOOTH
    }
    for value, node in readers.items():
        if value in histograms and graph.reader_count(value) == 1:
            histogram = histograms[value]
            points = histogram.centers.astype(np.float32)
            inputs = [points if name == value else graph.constants[name] if name else None for name in node.inputs]
            seen = evaluate(node, inputs)[0].ravel().astype(np.float64)  # the constant may have any rank
            histogram.seen_as = seen if np.isfinite(seen).all() else None
