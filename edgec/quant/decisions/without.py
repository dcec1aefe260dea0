"""A calibration with fewer integers, of which nothing is decided anew."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from glob import escape

from edgec.ir.graph import Graph
from edgec.quant.channels.features import even_features, select_even
from edgec.quant.channels.joined import pair_of
from edgec.quant.decisions.calibration import Calibration
from edgec.quant.decisions.divide import divide


def without(graph: Graph, calibration: Calibration, nodes: Collection[str], wide: Collection[str] = ()) -> Calibration:
    """The calibration with these nodes in float as well, and `wide` ones that read 16 bits; nothing is decided anew.

    Where a node is an addition that is joined with the multiplication before it, both are in float, each by itself.
    """
    pairs = {value: pair for value in calibration.joined if (pair := pair_of(graph, value)) and pair.addition.name in nodes}
    apart = [pair.multiplication.name for pair in pairs.values() if pair.multiplication.name not in nodes]
    exclude = (*calibration.exclude, *map(escape, [*nodes, *apart]))
    calibration = replace(calibration, joined=tuple(value for value in calibration.joined if value not in pairs))
    divided = graph.copy()
    divide(divided, calibration)
    even_features(divided, calibration.factors, whole=False)
    selection = select_even(divided, calibration.factors, exclude, calibration.codes_out, calibration.shaped)
    outputs = [layer.node.outputs[0] for layer in selection.matrices]
    read = {layer.operands[0] for layer in selection.layers if layer.node.name in wide}
    return replace(
        calibration,
        exclude=exclude,
        wide=tuple(value for value in selection.values if value in read),
        parameters={value: calibration.parameters[value] for value in selection.values},
        weights={output: calibration.weights[output] for output in outputs},
    )
