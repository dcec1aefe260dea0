"""A calibration's decisions, carried out on the float graph that it belongs to."""

from __future__ import annotations

from edgec.ir.graph import Graph
from edgec.quant.decisions.calibration import Calibration
from edgec.quant.decisions.layers import rebuild
from edgec.quant.decisions.rewrite import insert_quantization
from edgec.quant.decisions.twins import stored_twin


def apply(graph: Graph, calibration: Calibration) -> Graph:
    """The quantized graph that follows from `graph`; the same bytes on every machine."""
    quantized, selection = stored_twin(graph, calibration)
    parameters = calibration.stored
    weights = rebuild(quantized, selection.matrices, parameters, calibration.weights)
    insert_quantization(quantized, selection, parameters, weights)
    drop_unused_constants(quantized)
    return quantized


def drop_unused_constants(graph: Graph) -> None:
    """The float weights that integer ones replaced."""
    used = {name for node in graph.nodes for name in node.inputs} | set(graph.outputs)
    for name in [name for name in graph.constants if name not in used]:
        del graph.constants[name], graph.types[name]
