"""What becomes of error and time when layers stay in float32, foretold: which of many sets to try is decided by that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from edgec.ops.registry import Role
from edgec.quant.candidates import candidates_of
from edgec.quant.cost import Costs, conversion_cost, multiplications
from edgec.quant.coverage import Layer, choose, excluded_nodes, values_of
from edgec.quant.features import even_nodes
from edgec.quant.twins import Twins
from edgec.records.diagnosis import Diagnosis, LayerFacts


class Forecast:
    """Errors of layers add up, as the diagnosis found each of them by itself.

    That of a layer's weights goes when it stays in float; that of storing a value when no layer that writes or reads it, or moves its
    codes on, computes in integers. Sets of layers are sets of their nodes' names.
    """

    def __init__(self, twins: Twins, diagnosis: Diagnosis, costs: Costs | None = None) -> None:
        self._twins, self.graph, self._rates = twins, twins.stored, costs or Costs()
        self.layers = twins.selection.layers
        self.total = sum(multiplications(self.graph, node) for node in self.graph.nodes)
        self._macs = [multiplications(self.graph, layer.node) for layer in self.layers]
        self._writer = {value: place for place, layer in enumerate(self.layers) for value in layer.results}
        self._places = {layer.node: place for place, layer in enumerate(self.layers)}
        self._named = Counter(node.name for node in self.graph.nodes)
        self._errors = {layer.value: _parts(layer) for layer in diagnosis.layers}
        self._copies = {value: self._twins.moved(value) for value in self._errors}
        self._costs = self._rates.of_layers(self.graph, self.layers)
        self._constants = self.graph.constants.keys()
        self.shaped = frozenset(twins.calibration.shaped)
        self._candidates = candidates_of(self.graph, codes_out=twins.calibration.codes_out, shaped=self.shaped)
        even = even_nodes(self.graph, twins.calibration.factors)
        self._excluded = excluded_nodes(self.graph, twins.calibration.exclude) | frozenset(even)
        self._chosen: dict[frozenset[str], tuple[frozenset[int], frozenset[str]]] = {}

    def integers(self, kept: Collection[str]) -> frozenset[int]:
        """The places of the layers that go on in integers when `kept` are excluded."""
        return self._choice(kept)[0]

    def _choice(self, kept: Collection[str]) -> tuple[frozenset[int], frozenset[str]]:
        """These places, and the values that are stored then."""
        names = frozenset(kept)
        if names not in self._chosen:
            layers = choose(self._candidates, self._excluded | names).layers
            self._chosen[names] = frozenset(self._places[layer.node] for layer in layers), frozenset(values_of(layers))
        return self._chosen[names]

    def needed(self, kept: frozenset[str]) -> frozenset[str]:
        """Those of `kept` that nothing else keeps from computing in integers."""
        inside = self.integers(kept)
        for name in [layer.node.name for layer in self.layers if layer.node.name in kept]:
            if self.integers(kept - {name}) == inside:
                kept -= {name}
        return kept

    def matrices(self, kept: Collection[str]) -> int:
        return sum(self.layers[place].role is Role.MATRIX for place in self.integers(kept))

    def gone(self, kept: Collection[str]) -> float:
        """The part of the outputs' error that goes."""
        inside, stored = self._choice(kept)
        weights = sum(part for value, (part, _) in self._errors.items() if self._writer.get(value, -1) not in inside)
        return weights + sum(part for value, (_, part) in self._errors.items() if not any(copy in stored for copy in self._copies[value]))

    def latency(self, kept: Collection[str], wide: Collection[str] = ()) -> float:
        """The time of a run, see edgec/quant/cost.py. wide: layers that read 16 bits."""
        inside, stored = self._choice(kept)
        time = sum(costs[place in inside] for place, costs in enumerate(self._costs))
        for value in stored - self._constants:
            computed = self._writer.get(value, -1) in inside
            nodes = [self._places.get(node, -1) for node in self.graph.readers(value)]
            if not computed or any(place not in inside for place in nodes):
                time += conversion_cost(self.graph, value, to_float=computed)
        for value in dict.fromkeys(self.layers[place].operands[0] for place in sorted(inside) if self.layers[place].node.name in wide):
            readers = {self._places.get(node, -1) for node in self.graph.readers(value)} & inside
            time += self._rates.widening(self.graph, value, [(self.layers[place], self._costs[place][True]) for place in sorted(readers)])
        return time

    def float_macs(self, kept: Collection[str]) -> float:
        """The share of the network's multiply-accumulates, those with constant weights, that are in float."""
        return 1 - sum(self._macs[place] for place in self.integers(kept)) / self.total

    def macs(self, layer: Layer) -> float:
        """Its share of the same."""
        return self._macs[self._places[layer.node]] / self.total

    def groups(self) -> list[frozenset[str]]:
        """What is worth to be kept together: each layer, and for each value all that must be in float for it not to be stored."""
        found: dict[frozenset[str], None] = {frozenset([layer.node.name]): None for layer in self.layers}
        for value in self._errors:
            writer = self._twins.layer(value)
            found[frozenset(layer.node.name for layer in ([writer] if writer else []) + self._twins.readers_of_codes(value))] = None
        return [group for group in found if group and all(name and self._named[name] == 1 for name in group)]


def _parts(layer: LayerFacts) -> tuple[float, float]:
    """How much of a layer's part of the error is due to its weights, and how much to the storing of its value."""
    weights, storing = (10 ** (-ratio / 10) for ratio in (layer.weights, layer.rounding))
    share = weights / (weights + storing)
    return layer.cost * share, layer.cost * (1 - share)
