"""Quantized networks with some layers in float32, or with activations of 16 bits, judged: each is applied and run once."""

from __future__ import annotations

from collections.abc import Callable

from edgec.ir.graph import Graph
from edgec.quant.decisions.apply import apply
from edgec.quant.decisions.calibration import Calibration
from edgec.quant.decisions.without import without
from edgec.quant.floats.forecast import Forecast
from edgec.quant.floats.ranking import Names
from edgec.quant.given.goal import Accuracy, Attempt
from edgec.quant.given.options import Progress

Key = tuple[frozenset[int], Names]  # what computes in integers, and what of it reads 16 bits
Judge = Callable[[Graph], Accuracy]


class Tries:
    """What was tried, and what the outputs were; what computes alike is not tried twice."""

    def __init__(self, graph: Graph, calibration: Calibration, judge: Judge, forecast: Forecast, progress: Progress | None) -> None:
        self._graph, self._calibration, self._judge, self._forecast, self._progress = graph, calibration, judge, forecast, progress
        self.found: dict[Key, Accuracy] = {}
        self.kept: dict[Key, Names] = {}

    def __call__(self, kept: Names, wide: Names = frozenset()) -> Accuracy:
        """kept: the layers in float32; wide: those that read 16 bits."""
        key = self._forecast.integers(kept), wide
        if key not in self.found:
            found = without(self._graph, self._calibration, self.ordered(kept), self.ordered(wide))
            self.known(kept, self._judge(apply(self._graph, found)), wide)
            if self._progress:
                self._progress("layers that are kept", len(self.found) - 1, 0)
        return self.found[key]

    def known(self, kept: Names, found: Accuracy, wide: Names = frozenset()) -> None:
        key = self._forecast.integers(kept), wide
        self.found[key], self.kept[key] = found, self._forecast.needed(kept)

    def ordered(self, kept: Names) -> list[str]:
        """As the graph has them."""
        return [layer.node.name for layer in self._forecast.layers if layer.node.name in kept]

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        forecast, whole = self._forecast, self._forecast.latency(())
        return tuple(
            Attempt(
                len(self.kept[key]) + len(key[1]),
                found.sqnr,
                found.drop,
                round(forecast.float_macs(self.kept[key]), 4),
                round(forecast.latency(self.kept[key], key[1]) / whole, 4),
                len(key[1]),
            )
            for key, found in self.found.items()
        )
