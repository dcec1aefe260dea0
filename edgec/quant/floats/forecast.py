"""What becomes of error and time when layers stay in float32, foretold: which of many sets to try is decided by that."""

from __future__ import annotations

from collections.abc import Collection

from edgec.quant.channels.features import even_nodes
from edgec.quant.decisions.twins import Twins
from edgec.quant.floats.durations import Durations
from edgec.quant.scope.cost import Costs
from edgec.quant.scope.coverage import excluded_nodes
from edgec.records.diagnosis import Diagnosis, LayerFacts


class Forecast(Durations):
    """Errors of layers add up, as the diagnosis found each of them by itself.

    That of a layer's weights goes when it stays in float; that of storing a value when no layer that writes or reads it, or moves its
    codes on, computes in integers.
    """

    def __init__(self, twins: Twins, diagnosis: Diagnosis, costs: Costs | None = None) -> None:
        graph, calibration = twins.stored, twins.calibration
        excluded = excluded_nodes(graph, calibration.exclude) | frozenset(even_nodes(graph, calibration.factors))
        layers, codes_out = twins.selection.layers, calibration.codes_out
        super().__init__(graph, layers, excluded, costs, codes_out=codes_out, shaped=calibration.shaped)
        self._twins = twins
        self._errors = {layer.value: _parts(layer) for layer in diagnosis.layers}
        self._copies = {value: twins.moved(value) for value in self._errors}

    def gone(self, kept: Collection[str]) -> float:
        """The part of the outputs' error that goes."""
        inside, stored = self._choice(kept)
        weights = sum(part for value, (part, _) in self._errors.items() if self._writer.get(value, -1) not in inside)
        return weights + sum(part for value, (_, part) in self._errors.items() if not any(copy in stored for copy in self._copies[value]))

    def groups(self) -> list[frozenset[str]]:
        """What is worth to be kept together: each layer, and for each value all that must be in float for it not to be stored."""
        found: dict[frozenset[str], None] = {frozenset([layer.node.name]): None for layer in self.layers}
        for value in self._errors:
            writer = self._twins.layer(value)
            found[frozenset(layer.node.name for layer in ([writer] if writer else []) + self._twins.readers_of_codes(value))] = None
        return [group for group in found if group and all(map(self.is_named, group))]


def _parts(layer: LayerFacts) -> tuple[float, float]:
    """How much of a layer's part of the error is due to its weights, and how much to the storing of its value."""
    weights, storing = (10 ** (-ratio / 10) for ratio in (layer.weights, layer.rounding))
    share = weights / (weights + storing)
    return layer.cost * share, layer.cost * (1 - share)
