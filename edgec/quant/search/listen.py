"""What becomes of one value's errors in the network's answers, the rest of the network in float."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np

from edgec.ir.graph import Graph
from edgec.quant.decisions.layers import rounded
from edgec.quant.fits.fitted import Fitted
from edgec.quant.given.options import Progress, Sample, Samples
from edgec.quant.ranges.observers import Range
from edgec.quant.ranges.parameters import parameters_of
from edgec.quant.runs.float_run import Probe, watched
from edgec.quant.trials.trial import judged

SCANNED = 3  # samples that tell how loud a value is
THIRD = 3  # one in so many samples is there for how far a value goes in it
ALIVE = 256 << 20  # bytes of the samples, and of what one listener keeps


@dataclass(frozen=True)
class Few:
    """Samples, and the answers to them: whatever a value is stored as, these stay.

    weights: how many samples each stands for; furthest: so many of them, the first ones, are there for how far a value goes in them.
    """

    samples: Sequence[Sample]
    answers: Sequence[Sample]
    weights: np.ndarray
    furthest: int = 0


class Crowd:
    """Those of the samples that there is room for, from all over, the answers to them, and how far each of `values` goes in each.

    Those that judge are heard only where a value goes furthest in them.
    """

    def __init__(self, graph: Graph, values: Sequence[str], fitted: Fitted, progress: Progress | None) -> None:
        self._computed = [value for value in values if value not in graph.constants]
        answers = judged(graph)
        room = max(SCANNED, ALIVE // max(sum(graph.types[name].bytes for name in (*graph.inputs, *answers)), 1))
        judges, more = fitted.judges or (fitted.samples, 0)
        self._own = min(fitted.count, max(SCANNED, room * fitted.count // (fitted.count + more)))
        self._samples = [*_some(fitted.samples, fitted.count, self._own), *_some(judges, more, room - self._own)]
        self._answers, self._ends = list[Sample](), list[dict[str, Range]]()
        given = watched(lambda: self._samples, "answers", progress, len(self._samples))
        for found in Probe(graph, [*self._computed, *answers]).over(given):
            kept, ends = dict[str, np.ndarray](), dict[str, Range]()
            for name, array in found:
                ends |= {name: (float(array.min(initial=0.0)), float(array.max(initial=0.0)))} if name in self._computed else {}
                kept |= {name: array} if name in answers else {}
            self._answers.append(kept)
            self._ends.append(ends)

    def spread(self, most: int) -> Few:
        """`most` of them from all over."""
        return self._few(spaced(range(self._own), most))

    def far(self, members: Sequence[str], limits: Range, most: int) -> Few:
        """The same, of which a third are those in which `members` go furthest, to the sides on which `limits` leave 0.

        A range cuts a few of the samples, which decide whether it is too narrow: of these none is left to chance. The others stand for all
        that remain. That in which the values go furthest counts twice: a sample that is not among them may go there as well.
        """
        reached = [self._furthest(members, side) for side in (0, 1) if limits[side]]
        furthest = list(dict.fromkeys(chain(*zip(*reached, strict=True))))[: most // THIRD]
        ends = {ranked[0] for ranked in reached}
        heard = spaced([place for place in range(self._own) if place not in furthest], most - len(furthest))
        others = len(self._samples) - len(furthest)
        weights = [2.0 if place in ends else 1.0 for place in furthest] + [others / max(len(heard), 1)] * len(heard)
        return self._few([*furthest, *heard], np.array(weights), len(furthest))

    def _furthest(self, members: Sequence[str], side: int) -> list[int]:
        """The samples by how far members go below (0) or above (1)."""
        reach = np.abs([[ends[member][side] for member in members if member in ends] for ends in self._ends]).max(axis=1)
        # rounded, so that what a processor does to the last bits does not decide between two samples
        return [int(place) for place in np.argsort(-np.round(reach / max(reach.max(), 1e-300), 6), kind="stable")]

    def _few(self, places: Sequence[int], weights: np.ndarray | None = None, furthest: int = 0) -> Few:
        weights = np.ones(len(places)) if weights is None else weights
        return Few([self._samples[place] for place in places], [self._answers[place] for place in places], weights, furthest)


def _some(samples: Samples, count: int, most: int) -> list[Sample]:
    """`most` of `count` samples from all over."""
    most = min(most, count)
    return list(islice(samples(), 0, most * (count // most), count // most)) if most > 0 else []


def spaced(places: Sequence[int], most: int) -> list[int]:
    """`most` of these, evenly spread."""
    most = min(most, len(places))
    return [places[number * len(places) // most] for number in range(most)]


class Listener:
    """Hears in the answers what becomes of the errors of one value."""

    def __init__(self, graph: Graph, value: str, few: Few) -> None:
        behind = rest_of(graph, value)
        self._value, self._few, self._answers = value, few, behind.outputs
        self._probes = (Probe(graph, behind.inputs), Probe(behind, behind.outputs)) if behind.outputs else None
        self._kept: list[Sample] = []

    def __call__(self, ranges: Sequence[Range]) -> np.ndarray:
        """[samples, ranges]: energy of the answers' errors when the value is stored over each range, of that of the answers."""
        if self._probes is None:
            return np.zeros((1, len(ranges)))
        before, after = self._probes
        stored = [parameters_of(limits) for limits in ranges]
        signal, errors = [], []
        for given, answers in zip(self._given(before), self._few.answers, strict=True):
            exact = {name: answers[name] for name in self._answers}
            found = [after({**given, self._value: rounded(given[self._value], kept)}) for kept in stored]
            signal.append(_energies(exact, None))
            errors.append([_energies(exact, one) for one in found])
        whole = np.sum(signal, axis=0)
        return np.asarray((np.array(errors) / np.where(whole > 0, whole, np.inf)).mean(axis=2))

    def _given(self, before: Probe) -> Iterator[Sample]:
        """What the rest of the network is given; what is kept is not computed again."""
        yield from self._kept
        for sample in self._few.samples[len(self._kept) :]:
            given = before(sample)
            if (len(self._kept) + 1) * sum(array.nbytes for array in given.values()) <= ALIVE:
                self._kept.append(given)
            yield given


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


def _energies(exact: Sample, found: Sample | None) -> list[float]:
    """Of each answer, or of what another differs in."""
    wide = {name: array.astype(np.float64) for name, array in exact.items()}
    return [float(np.square(array if found is None else array - found[name]).sum()) for name, array in wide.items()]
