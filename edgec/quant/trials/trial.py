"""What a calibration is worth: the error of the network's outputs on samples that are held back for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import tee

import numpy as np

from edgec.ir.graph import Graph
from edgec.quant.decisions.apply import apply
from edgec.quant.decisions.calibration import Calibration
from edgec.quant.given.options import Progress, Sample, Samples
from edgec.quant.runs.float_run import Probe, watched
from edgec.quant.runs.noise import Noise
from edgec.quant.runs.outputs import compared

KEPT = 64 << 20  # bytes of samples and answers that are kept; with more than that the samples are read and run again each time
LAST = ("Softmax", "LogSoftmax", "Sigmoid")
MOVED = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Identity")


class Answers:
    """`count` samples, and what the float graph has to say to each of them in `values`."""

    def __init__(self, graph: Graph, values: Sequence[str], samples: Samples, count: int, progress: Progress | None) -> None:
        self._samples, self._count, self._progress = samples, count, progress
        self._exact = Probe(graph, values)
        self._kept: list[tuple[Sample, dict[str, np.ndarray]]] = []

    def __iter__(self) -> Iterator[tuple[Sample, dict[str, np.ndarray]]]:
        if self._kept:
            yield from self._kept
            return
        kept: list[tuple[Sample, dict[str, np.ndarray]]] = []
        size = 0
        samples, again = tee(watched(self._samples, "answers", self._progress, self._count))
        for sample, found in zip(samples, self._exact.over(again), strict=True):
            exact = dict(found)
            size += sum(array.nbytes for array in (*sample.values(), *exact.values()))
            kept = [*kept, (sample, exact)] if size <= KEPT else []
            yield sample, exact
        self._kept = kept if size <= KEPT else []


@dataclass(frozen=True)
class Tried:
    """Energies of the answers and of their errors, both [samples, values]: of `judges` that stand for the outputs, then of the outputs that

    are none of these.
    """

    signal: np.ndarray
    error: np.ndarray
    judges: int


class Trial:
    """Runs quantized graphs on `count` samples and compares their outputs with those of the float graph.

    turns: so many of them, one after the other, count as one.
    """

    def __init__(self, graph: Graph, samples: Samples, count: int, progress: Progress | None, turns: int = 1) -> None:
        found = judged(graph)
        self.graph, self.samples, self.count, self.progress = graph, samples, count, progress
        self._judges, self._turns = len(found), turns
        self._values = list(dict.fromkeys([*found, *(name for name in compared(graph) if graph.dtype(name).is_float)]))
        self._answers = Answers(graph, self._values, samples, count, progress)

    def __call__(self, calibration: Calibration) -> Tried:
        probe = Probe(apply(self.graph, calibration), self._values)
        energies = []
        answers, again = tee(self._answers)
        for (_, exact), found in zip(answers, probe.over(sample for sample, _ in again), strict=True):
            stored, noise = dict(found), {name: Noise() for name in self._values}
            for name, one in noise.items():
                one.add(exact[name], stored[name])
            energies.append([(one.signal, one.error) for one in noise.values()])
        found = np.array(energies)
        found = found.reshape(-1, self._turns, *found.shape[1:]).sum(axis=1)
        return Tried(found[:, :, 0], found[:, :, 1], self._judges)


def judged(graph: Graph) -> list[str]:
    """What stands for the outputs: what a final Softmax or Sigmoid reads, where each sample counts and not only the doubtful ones."""
    stands = before_last(graph)
    return list(dict.fromkeys(value for name in float_outputs(graph) for value in stands.get(name) or (name,)))


def float_outputs(graph: Graph) -> list[str]:
    """The outputs that are floats; all, where none is."""
    return [name for name in compared(graph) if graph.dtype(name).is_float] or compared(graph)


def before_last(graph: Graph) -> dict[str, tuple[str, ...]]:
    """Of each value that a Softmax or Sigmoid computes what that reads; of what is moved, or chosen from several such, theirs."""
    found: dict[str, tuple[str, ...]] = {}
    for node in graph.nodes:
        if node.op in LAST:
            found[node.outputs[0]] = (node.inputs[0],)
        elif node.op in MOVED and node.inputs[0] in found:
            found[node.outputs[0]] = found[node.inputs[0]]
        elif node.op == "Where" and all(name in found for name in node.inputs[1:]):
            found[node.outputs[0]] = tuple(dict.fromkeys(value for name in node.inputs[1:] for value in found[name]))
    return found
