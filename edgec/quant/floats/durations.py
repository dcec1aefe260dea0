"""How long a run takes when some layers stay in float32, foretold: see edgec/quant/scope/cost.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from edgec.ir.graph import Graph
from edgec.ops.registry import Role
from edgec.quant.scope.candidates import candidates_of
from edgec.quant.scope.cost import Costs, conversion_cost, multiplications
from edgec.quant.scope.coverage import Layer, choose, values_of


class Durations:
    """Of a graph with these layers in integers, where `excluded` nodes never are. Sets of layers are sets of their nodes' names."""

    def __init__(
        self, graph: Graph, layers: Sequence[Layer], excluded: Collection[str], costs: Costs | None = None,
        *, codes_out: bool = False, shaped: Collection[str] = (),
    ) -> None:  # fmt: skip
        self.graph, self.layers, self.shaped, self._rates = graph, layers, frozenset(shaped), costs or Costs()
        self.total = sum(multiplications(graph, node) for node in graph.nodes)
        self._macs = [multiplications(graph, layer.node) for layer in layers]
        self._writer = {value: place for place, layer in enumerate(layers) for value in layer.results}
        self._places = {layer.node: place for place, layer in enumerate(layers)}
        self._named = Counter(node.name for node in graph.nodes)
        self._costs = self._rates.of_layers(graph, layers)
        self._constants = graph.constants.keys()
        self._candidates = candidates_of(graph, codes_out=codes_out, shaped=self.shaped)
        self._excluded = frozenset(excluded)
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

    def latency(self, kept: Collection[str], wide: Collection[str] = ()) -> float:
        """The time of a run, see edgec/quant/scope/cost.py. wide: layers that read 16 bits."""
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

    def is_named(self, name: str) -> bool:
        """Whether a name tells one node from all others."""
        return bool(name) and self._named[name] == 1
