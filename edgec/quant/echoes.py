"""Ranges by what the network's answers lose: a value is stored in 8 bits, and all behind it computes in float.

What one value's errors do to the answers is measured without those of all others, so a few samples tell two ranges apart, and since
errors are small, their effects add up: the best range of each value by itself is the best for all. An observer sees the numbers only;
here it counts what the layers behind make of them.

A range that cuts what few samples have may be too narrow for others, so ranges half as far from those before are to be tried too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from edgec.budget import check_time
from edgec.ir.graph import Graph
from edgec.quant.calibration import Calibration
from edgec.quant.layers import rounded
from edgec.quant.observers import Histogram, Range
from edgec.quant.options import Progress, Sample, Samples
from edgec.quant.parameters import Parameters, choose_parameters, parameters_of
from edgec.quant.run import Probe
from edgec.quant.scores import ROOT
from edgec.quant.trial import judged
from edgec.quant.twins import stored_twin

SCANNED = 3  # samples that tell whether a value is loud
LOUD = 0.01  # of the noise that was heard before: a value that makes less of it keeps its range
FEWEST, MOST = 12, 64  # samples that are listened to
VALUES = 1000  # that are listened to in all, each time by another sample
ALIVE = 256 << 20  # bytes of what one value's listeners keep
COARSE, FINE = (0.65, 0.75, 0.87, 1.15), (0.94, 1.06)  # widths, of the best range so far
BOTH, LOW, HIGH = (1, 1), (1, 0), (0, 1)  # ends that move
SHARES = (1.0, 0.5)  # of the way from the ranges before


def echoed(graph: Graph, calibration: Calibration, samples: Samples, count: int, progress: Progress | None) -> tuple[Calibration, ...]:
    """The calibration with the ranges of the least error, and with ranges that go half as far."""
    stored, selection = stored_twin(graph, calibration)
    known, values = calibration.parameters, selection.values
    most = min(count, MOST, max(FEWEST, VALUES // len(values)))
    echoes = Echoes(stored, lambda: islice(samples(), 0, most * (count // most), count // most), len(values), progress)
    ends = {value: Histogram(*known[value].range) for value in values}
    pixels = [value for value in values if known[value].scale == 1.0]

    def parameters(share: float) -> dict[str, Parameters]:
        def between(members: tuple[str, ...], histogram: Histogram) -> Range:
            start = known[members[0]].range
            low, high = echoes(members, start)
            return part_of_way(start[0], low, share), part_of_way(start[1], high, share)

        return choose_parameters(stored, selection, ends, between, pixels)

    return tuple(replace(calibration, parameters=parameters(share)) for share in SHARES)


def part_of_way(start: float, end: float, share: float) -> float:
    """From one end of a range to another that has the same sign, where factors count alike."""
    return start * (end / start) ** share if start else end


class Echoes:
    """Chooses ranges for values of `graph` by the answers to `samples`, which are few."""

    def __init__(self, graph: Graph, samples: Samples, total: int, progress: Progress | None) -> None:
        self._graph, self._samples, self._total, self._progress = graph, samples, total, progress
        self._known: dict[tuple[str, ...], Range] = {}
        self._heard = 0.0

    def __call__(self, members: tuple[str, ...], start: Range) -> Range:
        """The range of the least error, for values that share one; `start`, unless they are loud and another is measurably better."""
        if members not in self._known:
            started = time.monotonic()
            self._known[members] = self._search(members, start)
            check_time(f"the ranges of {members[0]}", started)
            if self._progress:
                self._progress("ranges by output error", len(self._known), self._total)
        return self._known[members]

    def _search(self, members: Sequence[str], start: Range) -> Range:
        listeners = [Listener(self._graph, member, self._samples) for member in members if member not in self._graph.constants]
        noise = float(np.sum([listener([start], SCANNED).mean() for listener in listeners]))
        self._heard += noise
        if not listeners or noise <= LOUD * self._heard:
            return start
        return narrowed(start, lambda ranges: np.sum([listener(ranges) for listener in listeners], axis=0))


class Listener:
    """Hears in the answers to `samples` what becomes of the errors of one value."""

    def __init__(self, graph: Graph, value: str, samples: Samples) -> None:
        behind = rest_of(graph, value)
        self._value, self._samples = value, samples
        self._silent = not behind.outputs
        self._before, self._after = Probe(graph, behind.inputs), Probe(behind, behind.outputs or behind.inputs)
        self._kept: list[tuple[Sample, Sample]] = []

    def __call__(self, ranges: Sequence[Range], most: int | None = None) -> np.ndarray:
        """[samples, ranges]: energy of the answers' errors when the value is stored over each range, of that of the answers.

        most: samples; None: all.
        """
        if self._silent:
            return np.zeros((1, len(ranges)))
        stored = [parameters_of(limits) for limits in ranges]
        signal, errors = [], []
        for given, exact in islice(self._heard(), most):
            found = [self._after({**given, self._value: rounded(given[self._value], kept)}) for kept in stored]
            signal.append(_energies(exact, None))
            errors.append([_energies(exact, one) for one in found])
        whole = np.sum(signal, axis=0)
        return np.asarray((np.array(errors) / np.where(whole > 0, whole, np.inf)).mean(axis=2))

    def _heard(self) -> Iterator[tuple[Sample, Sample]]:
        """What the rest of the network is given, and its answers; what is kept is not computed again."""
        yield from self._kept
        for sample in islice(self._samples(), len(self._kept), None):
            given = self._before(sample)
            heard = given, self._after(given)
            size = sum(array.nbytes for array in given.values())
            if (len(self._kept) + 1) * size <= ALIVE:
                self._kept.append(heard)
            yield heard


def narrowed(start: Range, errors: Callable[[Sequence[Range]], np.ndarray]) -> Range:
    """The range of the least error near `start`: both ends together, each by itself, and a little to either side."""
    known = {start: errors([start])[:, 0]}
    apart = start[0] < 0 < start[1]
    ends = (BOTH, LOW, HIGH) if apart else (BOTH,)

    def cost(limits: Range) -> float:
        return float((known[limits] ** ROOT).mean())

    best = start
    for widths, sides in ((COARSE, ends), (FINE, (BOTH,))):
        for low, high in sides:
            ranges = [(best[0] * width**low, best[1] * width**high) for width in widths]
            new = [limits for limits in dict.fromkeys(ranges) if limits not in known]
            known |= dict(zip(new, errors(new).T, strict=True)) if new else {}
            best = min([best, *ranges], key=cost)
    gains = known[start] ** ROOT - known[best] ** ROOT
    chance = gains.std(ddof=1) / len(gains) ** 0.5 if len(gains) > 1 else 0.0
    return best if gains.mean() > chance and known[best].sum() <= known[start].sum() else start


def _energies(exact: Sample, found: Sample | None) -> list[float]:
    """Of each answer, or of what another differs in."""
    wide = {name: array.astype(np.float64) for name, array in exact.items()}
    return [float(np.square(array if found is None else array - found[name]).sum()) for name, array in wide.items()]


def rest_of(graph: Graph, value: str) -> Graph:
    """What follows from `value` in `graph`, up to the values that stand for its outputs; everything else that it reads is an input."""
    reached, nodes = {value}, []
    for node in graph.nodes:
        if not reached.isdisjoint(node.inputs):
            nodes.append(node)
            reached.update(node.outputs)
    read = dict.fromkeys([value, *(name for node in nodes for name in node.inputs if name)])
    inputs = [name for name in read if name == value or (name not in reached and name not in graph.constants)]
    outputs = [name for name in judged(graph) if name in reached and name != value]
    constants = {name: graph.constants[name] for name in read if name in graph.constants}
    part = Graph(graph.name, inputs, outputs, nodes, constants, graph.types, graph.metadata)
    return part.copy()
