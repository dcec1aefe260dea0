"""What a calibration is worth: the error of the network's outputs on samples that are held back for it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edgec.ir.graph import Graph
from edgec.quant.apply import apply
from edgec.quant.calibration import Calibration
from edgec.quant.options import Progress, Sample, Samples
from edgec.quant.report import Noise
from edgec.quant.run import Probe, watched

KEPT = 64 << 20  # bytes of samples and answers that are kept; with more than that the samples are read and run again each time
LAST = ("Softmax", "LogSoftmax")


class Trial:
    """Runs quantized graphs on `count` samples and compares their outputs with those of the float graph."""

    def __init__(self, graph: Graph, samples: Samples, count: int, progress: Progress | None) -> None:
        self._graph, self._samples, self._count, self._progress = graph, samples, count, progress
        self.outputs = [name for name in graph.outputs if graph.dtype(name).is_float] or list(graph.outputs)
        self.judged = [stand_in(graph, name) for name in self.outputs]
        self._seen = list(dict.fromkeys([*self.outputs, *self.judged]))
        self._exact = Probe(graph, self._seen)
        self._kept: list[tuple[Sample, dict[str, np.ndarray]]] = []

    def __call__(self, calibration: Calibration) -> dict[str, Noise]:
        """The noise of the outputs, and of the values that stand for them."""
        noise = {name: Noise() for name in self._seen}
        probe = Probe(apply(self._graph, calibration), self._seen)
        for sample, exact in self._answers():
            stored = probe(sample)
            for name in self._seen:
                noise[name].add(exact[name], stored[name])
        return noise

    def _answers(self) -> Iterator[tuple[Sample, dict[str, np.ndarray]]]:
        """The samples, and what the float graph says to them."""
        if self._kept:
            yield from self._kept
            return
        kept: list[tuple[Sample, dict[str, np.ndarray]]] = []
        size = 0
        for sample in watched(self._samples, "answers", self._progress, self._count):
            exact = self._exact(sample)
            size += sum(array.nbytes for array in (*sample.values(), *exact.values()))
            kept = [*kept, (sample, exact)] if size <= KEPT else []
            yield sample, exact
        self._kept = kept if size <= KEPT else []


def stand_in(graph: Graph, output: str) -> str:
    """What a final Softmax reads stands for its result: there each sample counts, not only the doubtful ones."""
    node = graph.producer(output)
    return node.inputs[0] if node is not None and node.op in LAST else output
