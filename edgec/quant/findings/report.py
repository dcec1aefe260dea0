"""How well each quantized value follows the float one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice, tee
from typing import Any

from edgec.ir.graph import Graph
from edgec.quant.decisions.calibration import Calibration
from edgec.quant.decisions.twins import Twins, twins_of
from edgec.quant.given.options import Progress, Samples
from edgec.quant.ranges.parameters import Parameters
from edgec.quant.runs.float_run import Probe, watched
from edgec.quant.runs.noise import Noise


@dataclass(frozen=True)
class LayerReport:
    """One quantized value: its range and parameters, and its SQNR in dB against fp32 with all errors before it.

    node: the first one of the layer that computes it; operator: that node's.
    """

    node: str
    operator: str
    value: str
    low: float
    high: float
    scale: float
    zero_point: int
    sqnr: float


@dataclass(frozen=True)
class QuantizationReport:
    """The layers, worst first, as plain dicts; which nodes stay in float and why; the steps that were tried; remarks;

    how a goal was reached."""

    layers: list[dict[str, Any]] = field(default_factory=list)
    kept_in_float: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, float] = field(default_factory=dict)  # SQNR of each graph output, dB
    steps: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pruning: dict[str, Any] | None = None  # what was removed before, where that was asked for
    goal: dict[str, Any] | None = None  # what edgec/quant/given/goal.py has of it, where one was given
    samples: int = 0  # that were given

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def measure(
    graph: Graph, quantized: Graph, calibration: Calibration, samples: Samples, most: int, progress: Progress | None
) -> QuantizationReport:
    """Run the float and the quantized graph side by side over at most `most` samples, one after the other."""
    twins, count = twins_of(graph, quantized, calibration), min(calibration.samples, most)
    seen = list(dict.fromkeys([*twins.values, *twins.outputs]))
    exact, stored = Probe(twins.exact, seen), Probe(quantized, list(map(twins.twin, seen)))
    noise = {value: Noise() for value in seen}
    given, again = tee(watched(lambda: islice(samples(), count), "report", progress, count))
    for wanted, found in zip(exact.over(given), stored.over(again), strict=True):
        for (value, one), (_, two) in zip(wanted, found, strict=True):
            noise[value].add(one, two)
    stored_as = calibration.stored
    rows = [_row(twins, value, stored_as[value], noise[value].sqnr) for value in twins.values]
    rows.sort(key=lambda layer: (layer.sqnr, layer.value))
    return QuantizationReport(
        [asdict(layer) for layer in rows], dict(twins.selection.refused), {output: noise[output].sqnr for output in graph.outputs}
    )


def _row(twins: Twins, value: str, parameters: Parameters, sqnr: float) -> LayerReport:
    return LayerReport(*twins.origin(value), value, *parameters.range, parameters.scale, parameters.zero_point, sqnr)


def untouched(notes: Sequence[str]) -> QuantizationReport:
    return QuantizationReport(notes=list(notes))
