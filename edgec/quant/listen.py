"""What becomes of one value's errors in the network's answers, the rest of the network in float."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from edgec.ir.graph import Graph
from edgec.quant.float_run import Probe
from edgec.quant.layers import rounded
from edgec.quant.observers import Range
from edgec.quant.options import Sample, Samples
from edgec.quant.parameters import parameters_of
from edgec.quant.trial import judged

SCANNED = 3  # samples that tell how loud a value is
ALIVE = 256 << 20  # bytes of the samples, and of what one listener keeps


@dataclass(frozen=True)
class Few:
    """Samples, and the answers to them: whatever a value is stored as, these stay."""

    samples: Sequence[Sample]
    answers: Sequence[Sample]


def few_of(graph: Graph, samples: Samples, count: int, most: int) -> Few:
    """`most` of `count` samples from all over, fewer where they are large."""
    size = sum(graph.types[name].bytes for name in (*graph.inputs, *judged(graph)))
    most = min(most, count, max(SCANNED, ALIVE // max(size, 1)))
    taken = list(islice(samples(), 0, most * (count // most), count // most))
    probe = Probe(graph, judged(graph))
    return Few(taken, [probe(sample) for sample in taken])


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
