"""How well each quantized value follows the float one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from math import log10
from typing import Any

import numpy as np

from edgec.ir.graph import Graph
from edgec.quant.calibration import Calibration
from edgec.quant.equalize import apply_factors
from edgec.quant.options import Progress, Samples
from edgec.quant.parameters import Parameters
from edgec.quant.run import Probe, watched
from edgec.quant.selection import select
from edgec.quant.split import apply_splits

BEST = 200.0  # dB, stands for no error at all


@dataclass(frozen=True)
class LayerReport:
    """One quantized value: who computes it, its range and parameters, and its SQNR in dB against fp32 with all errors before it."""

    node: str
    operator: str
    value: str
    low: float
    high: float
    scale: float
    zero_point: int
    sqnr: float


@dataclass(frozen=True)
class StepReport:
    """One step beyond plain min-max: SQNR of the outputs in dB, on samples that it was not fitted to.

    before: without it; everywhere: with it in all its places; after: with it in the `taken` ones of them where it helped.
    """

    step: str
    places: int
    taken: int
    before: float
    everywhere: float
    after: float


@dataclass(frozen=True)
class QuantizationReport:
    """The layers, worst first, as plain dicts; which nodes stay in float and why; the steps that were tried; remarks."""

    layers: list[dict[str, Any]] = field(default_factory=list)
    kept_in_float: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, float] = field(default_factory=dict)  # SQNR of each graph output, dB
    steps: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Noise:
    """Energy of a stream of numbers and of its error; what is not finite on either side has none."""

    def __init__(self) -> None:
        self.signal = self.error = 0.0

    def add(self, exact: np.ndarray, stored: np.ndarray) -> None:
        wide, found = exact.astype(np.float64), stored.astype(np.float64)
        finite = np.isfinite(wide) & np.isfinite(found)
        self.signal += float(np.square(wide[finite]).sum())
        self.error += float(np.square(wide[finite] - found[finite]).sum())

    @property
    def sqnr(self) -> float:
        """10 log10(signal / error) in dB, rounded to 1/100."""
        if self.error <= 0:
            return BEST
        return round(10 * log10(max(self.signal, 1e-300) / self.error), 2)


def measure(
    graph: Graph, quantized: Graph, calibration: Calibration, samples: Samples, most: int, progress: Progress | None
) -> QuantizationReport:
    """Run the float and the quantized graph side by side over at most `most` samples, one after the other."""
    equalized, stored_form = graph.copy(), graph.copy()
    for changed, narrow in ((equalized, False), (stored_form, True)):
        apply_splits(changed, calibration.splits)
        apply_factors(changed, calibration.factors, stored=narrow)
    selection, parameters, count = select(stored_form, calibration.exclude), calibration.parameters, min(calibration.samples, most)
    graph = equalized
    names = [value for value in selection.values if value not in graph.constants]
    twin = {value: value if value in selection.produced else f"{value}_rounded" for value in names}
    seen = [*names, *(output for output in graph.outputs if output not in names)]
    exact, stored = Probe(graph, seen), Probe(quantized, [twin.get(value, value) for value in seen])
    noise = {value: Noise() for value in seen}
    for index, sample in enumerate(watched(samples, "report", progress, count)):
        if index >= count:
            break
        one, two = exact(sample), stored(sample)
        for value in seen:
            noise[value].add(one[value], two[twin.get(value, value)])
    rows = [row(stored_form, value, parameters[value], noise[value].sqnr) for value in names]
    rows.sort(key=lambda layer: (layer.sqnr, layer.value))
    return QuantizationReport(
        [asdict(layer) for layer in rows], dict(selection.refused), {output: noise[output].sqnr for output in graph.outputs}
    )


def row(graph: Graph, value: str, parameters: Parameters, sqnr: float) -> LayerReport:
    producer = graph.producer(value)
    node, operator = (producer.name or value, producer.op) if producer else (value, "input")
    return LayerReport(node, operator, value, *parameters.range, parameters.scale, parameters.zero_point, sqnr)


def untouched(notes: Sequence[str]) -> QuantizationReport:
    return QuantizationReport(notes=list(notes))
