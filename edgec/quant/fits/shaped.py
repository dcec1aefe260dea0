"""Functions that a kernel computes of its sums, so that nothing is rounded between a product and them.

Where edgec/program/functions.py comes near a function, as to Swish and Gelu, a kernel takes longer for it than a table of codes would. But
what the table reads, a code of 8 bits for all that goes into the function, is what most often makes the larger part of the error there; and
behind a table channels cannot be equalized.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from edgec.integer.shaping import finish_of
from edgec.ir.graph import Graph
from edgec.quant.channels.features import even_features, select_even
from edgec.quant.channels.streams import functions_of
from edgec.quant.decisions.calibration import Calibration
from edgec.quant.decisions.divide import divide
from edgec.quant.scope.coverage import Selection


def shapeable(graph: Graph, selection: Selection) -> list[str]:
    """The results of products of whose sums a table's function could be computed instead; no table that goes on with another function."""
    stored = [layer.node for layer in selection.matrices if layer.activation is None and not layer.ends_in_float]
    ends = {node.outputs[0]: finish_of(graph, node, node.outputs) for node in stored}
    return [value for value, function in ends.items() if function is not None and function.outputs[0] in selection.produced]


def with_functions(graph: Graph, calibration: Calibration, values: Collection[str]) -> Calibration:
    """The same without these values besides. graph: the float graph that the calibration belongs to."""
    if not values:
        return calibration
    divided = graph.copy()
    divide(divided, calibration)
    shaped = *calibration.shaped, *(value for value in calibration.parameters if value in values)
    even_features(divided, calibration.factors, whole=False)
    selection = select_even(divided, calibration.factors, calibration.exclude, calibration.codes_out, shaped)
    return replace(calibration, shaped=shaped, parameters={value: calibration.parameters[value] for value in selection.values})


def functions_in(graph: Graph, selection: Selection, shaped: Collection[str] | None = None) -> set[str]:
    """What functions of convolutions' sums give, where each of several channels may have a multiplier; of the sums `shaped`, if given."""
    layers = [layer for layer in selection.matrices if shaped is None or layer.node.outputs[0] in shaped]
    ends = [layer.activation for layer in layers if layer.activation is not None and layer.node.op in ("Conv", "ConvTranspose")]
    return {value for value in functions_of(ends) if graph.shape(value)[1] != 1}
