"""Where a quantized graph loses what the float graph knows: every layer by itself, and all of them together, over the same samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from edgec.base.errors import UsageError
from edgec.ir.graph import Graph
from edgec.quant.channels.sensitivity import channels_of
from edgec.quant.decisions.apply import apply
from edgec.quant.decisions.calibration_file import read_calibration
from edgec.quant.decisions.twins import Twins, twins_of
from edgec.quant.findings.advice import advise
from edgec.quant.findings.blame import Blame
from edgec.quant.findings.teacher import Lesson, teach
from edgec.quant.given.options import Progress, Samples
from edgec.quant.ranges.observers import BINS
from edgec.quant.runs.carried import carried
from edgec.quant.runs.float_run import Probe, watched
from edgec.quant.runs.noise import Noise
from edgec.quant.runs.statistics import Extent, measure_histograms
from edgec.quant.trials.trial import judged
from edgec.records.diagnosis import Diagnosis, HistogramFacts, LayerFacts

BLAMED = 4  # samples: each of them runs the float graph once for each layer
HISTOGRAMS = 3  # of the worst layers
BARS = 128  # of a histogram that is told
OUTSIDE = 0.001  # share of the numbers at either end that are not in the middle


def diagnose(graph: Graph, content: Mapping[str, Any], samples: Samples, progress: Progress | None = None) -> Diagnosis:
    """graph: the optimized float graph; content: what `quantize` decided for it. UsageError when they do not fit, or without samples."""
    calibration = read_calibration(content, graph)
    diagnosis = examine(twins_of(graph, apply(graph, calibration), calibration), carried(graph, samples), progress)
    return replace(diagnosis, advice=advise(diagnosis, [node.name for node in graph.nodes if node.name]))


def examine(twins: Twins, samples: Samples, progress: Progress | None = None) -> Diagnosis:
    """The same of graphs that are there, without advice."""
    tallies, outputs, count = _run(twins, samples, progress)
    layers = tuple(tally.facts(twins) for tally in tallies)
    total = sum(layer.cost for layer in layers)
    layers = tuple(replace(layer, cost=layer.cost / total if total > 0 else 0.0) for layer in layers)
    worst = sorted(range(len(layers)), key=lambda place: (-layers[place].cost, layers[place].local, place))
    named = [layers[place] for place in worst[:HISTOGRAMS]]
    histograms = _histograms(twins, named, samples, count, progress)
    ratios = {name: noise.sqnr for name, noise in outputs.items()}
    found, meant = ({name: ratios[name] for name in names} for names in (twins.outputs, judged(twins.exact)))
    return Diagnosis(count, twins.calibration.observer, found, meant, layers, tuple(worst), histograms, dict(twins.selection.refused))


def _run(twins: Twins, samples: Samples, progress: Progress | None) -> tuple[Sequence[_Tally], dict[str, Noise], int]:
    """One pass over the samples."""
    graph, lessons = teach(twins)
    tallies = [_Tally(twins, value, lesson) for value, lesson in lessons.items()]
    outputs = {name: Noise() for name in [*twins.outputs, *judged(twins.exact)]}
    taught = Probe(graph, [*(name for lesson in lessons.values() for name in lesson.names), *outputs], exact=True)
    whole = Probe(twins.quantized, [*map(twins.twin, lessons), *outputs])
    blame, count = Blame(twins), 0
    for index, sample in enumerate(watched(samples, "layers", progress, 0)):
        exact, together = taught(sample), whole(sample)
        for tally in tallies:
            tally.add(exact, together[twins.twin(tally.value)])
        for name, noise in outputs.items():
            noise.add(exact[name], together[name])
        if index < BLAMED:
            caused = blame(sample, {tally.value: tally.error(exact) for tally in tallies})
            for tally in tallies:
                tally.cost += caused.get(tally.value, 0.0)
        count += 1
    if not count:
        raise UsageError("there are no samples to look at", hint="give at least one")
    return tallies, outputs, count


class _Tally:
    """What the samples say of one value."""

    def __init__(self, twins: Twins, value: str, lesson: Lesson) -> None:
        self.value, self._lesson = value, lesson
        self._kept = twins.parameters(value)
        self._exact, self._stored = Extent(channels_of(twins.exact, value)), Extent(channels_of(twins.exact, value))
        self._weights, self._rounding, self._local, self._accumulated = Noise(), Noise(), Noise(), Noise()
        self._outside = self._numbers = 0
        self.cost = 0.0

    def add(self, arrays: Mapping[str, np.ndarray], together: np.ndarray) -> None:
        """arrays: of the teacher's graph; together: the value in the quantized graph."""
        exact, wanted, computed, stored = (arrays[name] for name in self._lesson.names)
        self._exact.add(exact)
        self._stored.add(stored)
        self._weights.add(wanted, computed)
        self._rounding.add(computed, stored)
        self._local.add(wanted, stored)
        self._accumulated.add(exact, together)
        self._numbers += exact.size
        if self._kept is not None:
            (low, high), margin = self._kept.range, self._kept.scale / 2
            self._outside += int(np.count_nonzero((exact < low - margin) | (exact > high + margin)))

    def error(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """The layer's own, without what is not finite."""
        with np.errstate(invalid="ignore"):
            found = arrays[self._lesson.stored] - arrays[self._lesson.wanted]
        return np.asarray(np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0))

    def facts(self, twins: Twins) -> LayerFacts:
        """cost: not yet a share."""
        node, operator = twins.origin(self.value)
        still, gone = self._exact.low == self._exact.high, self._stored.low == self._stored.high
        seen = self._exact.ends(None) if np.isfinite(self._exact.ends(None)).all() else (0.0, 0.0)
        low, high = self._kept.range if self._kept else seen
        return LayerFacts(
            node=node,
            operator=operator,
            value=self.value,
            scale=self._kept.scale if self._kept else 0.0,
            zero_point=self._kept.zero_point if self._kept else 0,
            low=low,
            high=high,
            seen_low=seen[0],
            seen_high=seen[1],
            saturated=self._outside / max(1, self._numbers),
            channels=self._exact.channels,
            dead=int((gone & ~still).sum()),
            constant=int((gone & still).sum()),
            weights=self._weights.sqnr,
            rounding=self._rounding.sqnr,
            local=self._local.sqnr,
            accumulated=self._accumulated.sqnr,
            cost=self.cost,
            readers=tuple(dict.fromkeys(reader.node.name for reader in twins.readers_of_codes(self.value))),
        )


def _histograms(
    twins: Twins, layers: Sequence[LayerFacts], samples: Samples, count: int, progress: Progress | None
) -> tuple[HistogramFacts, ...]:
    """A second pass, since what bins there are depends on the first."""
    ends = {layer.value: (min(layer.low, layer.seen_low), max(layer.high, layer.seen_high)) for layer in layers}
    found = measure_histograms(twins.exact, ends, {}, lambda: islice(samples(), count), count, progress)
    told = []
    for value, histogram in found.items():
        rising = np.cumsum(histogram.counts)
        out = rising[-1] * OUTSIDE
        first = int(np.searchsorted(rising, out, side="right"))
        last = int(np.searchsorted(rising, rising[-1] - out, side="left"))
        middle = float(histogram.edges[first]), float(histogram.edges[min(last, BINS - 1) + 1])
        bars = histogram.counts.reshape(BARS, -1).sum(axis=1)
        told.append(HistogramFacts(value, *ends[value], tuple(map(int, bars)), middle))
    return tuple(told)
