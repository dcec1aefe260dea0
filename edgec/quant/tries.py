"""Quantized networks with some layers in float32, judged: each is applied and run once."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from glob import escape

from edgec.ir.graph import Graph
from edgec.quant.apply import apply
from edgec.quant.calibration import Calibration
from edgec.quant.forecast import Forecast
from edgec.quant.goal import Accuracy, Attempt
from edgec.quant.options import Progress
from edgec.quant.ranking import Names
from edgec.quant.selection import select
from edgec.quant.split import apply_splits

Judge = Callable[[Graph], Accuracy]


class Tries:
    """What was tried, and what the outputs were; what computes alike is not tried twice."""

    def __init__(self, graph: Graph, calibration: Calibration, judge: Judge, forecast: Forecast, progress: Progress | None) -> None:
        self._graph, self._calibration, self._judge, self._forecast, self._progress = graph, calibration, judge, forecast, progress
        self.found: dict[frozenset[int], Accuracy] = {}
        self.kept: dict[frozenset[int], Names] = {}

    def __call__(self, kept: Names) -> Accuracy:
        inside = self._forecast.integers(kept)
        if inside not in self.found:
            self.known(kept, self._judge(apply(self._graph, without(self._graph, self._calibration, self.ordered(kept)))))
            if self._progress:
                self._progress("layers in float32", len(self.found) - 1, 0)
        return self.found[inside]

    def known(self, kept: Names, found: Accuracy) -> None:
        inside = self._forecast.integers(kept)
        self.found[inside], self.kept[inside] = found, self._forecast.needed(kept)

    def ordered(self, kept: Names) -> list[str]:
        """As the graph has them."""
        return [layer.node.name for layer in self._forecast.layers if layer.node.name in kept]

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        forecast, whole = self._forecast, self._forecast.latency(())
        return tuple(
            Attempt(
                len(self.kept[inside]),
                found.sqnr,
                found.drop,
                round(forecast.float_macs(self.kept[inside]), 4),
                round(forecast.latency(self.kept[inside]) / whole, 4),
            )
            for inside, found in self.found.items()
        )


def without(graph: Graph, calibration: Calibration, nodes: Collection[str]) -> Calibration:
    """The calibration with these nodes in float as well; nothing is decided anew."""
    exclude = (*calibration.exclude, *map(escape, nodes))
    divided = graph.copy()
    apply_splits(divided, calibration.splits)
    selection = select(divided, exclude, codes_out=calibration.codes_out)
    outputs = [layer.node.outputs[0] for layer in selection.matrices]
    return replace(
        calibration,
        exclude=exclude,
        parameters={value: calibration.parameters[value] for value in selection.values},
        weights={output: calibration.weights[output] for output in outputs},
    )
