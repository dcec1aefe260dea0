"""The float graph whose values a quantized graph stores, and where each of them stands in it."""

from __future__ import annotations

from dataclasses import dataclass

from edgec.ir.graph import Graph
from edgec.ops.registry import Role
from edgec.quant.channels.centre import apply_centres
from edgec.quant.channels.equalize import apply_factors, store_equalized
from edgec.quant.decisions.calibration import Calibration
from edgec.quant.decisions.divide import divide
from edgec.quant.ranges.parameters import Parameters
from edgec.quant.scope.coverage import Layer, Selection


@dataclass(frozen=True)
class Twins:
    """exact: the float graph with the calibration's centres, joined and split layers, and factors, which computes what the model does.

    stored: the same as its values are stored (a Clip has the least of its bounds); the selection's nodes are this one's.
    """

    exact: Graph
    stored: Graph
    quantized: Graph
    selection: Selection
    calibration: Calibration

    @property
    def outputs(self) -> list[str]:
        return self.exact.outputs

    @property
    def values(self) -> list[str]:
        """What is stored and is no constant, in the order of definition."""
        return [value for value in self.selection.values if value not in self.stored.constants]

    @property
    def results(self) -> list[str]:
        """The same, and what layers give in float."""
        names = dict.fromkeys(name for layer in self.selection.layers for name in (*layer.operands, *layer.results))
        return [value for value in names if value not in self.stored.constants]

    @property
    def computed(self) -> frozenset[str]:
        """What layers give, as codes or in float; the other values come from float."""
        return frozenset(name for layer in self.selection.layers for name in layer.results)

    def twin(self, value: str) -> str:
        """The name of `value`, or of another one of the float graph, in the quantized graph, where it was rounded."""
        from_float = value in self.selection.values and value not in self.selection.produced
        return f"{value}_rounded" if from_float else value

    def parameters(self, value: str) -> Parameters | None:
        """None: a layer gives it in float."""
        return self.calibration.stored.get(value)

    def layer(self, value: str) -> Layer | None:
        """The layer that computes `value`; None for what comes from float."""
        return next((layer for layer in self.selection.layers if value in layer.results), None)

    def origin(self, value: str) -> tuple[str, str]:
        """The first node of the layer that computes `value`, or the node, and its operator; of an input its own name."""
        layer = self.layer(value)
        node = layer.node if layer else self.stored.producer(value)
        return (node.name or value, node.op) if node else (value, "input")

    def readers(self, value: str) -> list[Layer]:
        """The layers that read it as it is stored."""
        return [layer for layer in self.selection.layers if value in layer.operands]

    def readers_of_codes(self, value: str) -> list[Layer]:
        """The same, and the readers of what is only moved: those that share the value's codes."""
        return [layer for name in self.moved(value) for layer in self.readers(name)]

    def moved(self, value: str) -> list[str]:
        """The value, and those whose codes are its own."""
        found = [value]
        for name in found:
            found += [output for layer in self.readers(name) if layer.role is Role.MOVE for output in layer.outputs if output not in found]
        return found


def twins_of(graph: Graph, quantized: Graph, calibration: Calibration) -> Twins:
    """graph: the float graph that the calibration belongs to; quantized: what followed from both."""
    stored, selection = stored_twin(graph, calibration)
    return Twins(exact_twin(graph, calibration), stored, quantized, selection, calibration)


def exact_twin(graph: Graph, calibration: Calibration) -> Graph:
    """The float graph with the calibration's centres, joined and split layers, and factors, which computes what `graph` does."""
    exact = graph.copy()
    apply_centres(exact, calibration.centres)
    divide(exact, calibration)
    apply_factors(exact, calibration.factors)
    return exact


def stored_twin(graph: Graph, calibration: Calibration) -> tuple[Graph, Selection]:
    """The same as its values are stored, and its layers."""
    stored = graph.copy()
    apply_centres(stored, calibration.centres)
    divide(stored, calibration)
    return stored, store_equalized(stored, calibration.factors, calibration.exclude, calibration.codes_out, calibration.shaped)
