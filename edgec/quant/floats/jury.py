"""How a quantized graph's answers compare with those of the float graph: what a goal is about."""

from __future__ import annotations

from edgec.base.classes import best_classes, chooses, samples_in
from edgec.ir.graph import Graph
from edgec.quant.given.goal import Accuracy
from edgec.quant.given.options import Progress, Samples
from edgec.quant.runs.float_run import Probe
from edgec.quant.runs.noise import Noise
from edgec.quant.trials.shares import some
from edgec.quant.trials.trial import Answers, float_outputs, judged
from edgec.records.diagnosis import BEST

JURORS = 256  # samples at most


class Jury:
    """Judges quantized graphs by `most` of `count` samples: their answers, and what a final Softmax or Sigmoid reads, of which every sample
    says something and not only the doubtful ones.

    apart: whether nothing was fitted to the samples.
    """

    def __init__(self, graph: Graph, samples: Samples, count: int, apart: bool, progress: Progress | None, most: int = JURORS) -> None:
        self.samples, self.count, self.apart = some(samples, count, most), min(count, most), apart
        self._judged, self._classes = list(dict.fromkeys([*judged(graph), *float_outputs(graph)])), class_scores(graph)
        self._values = list(dict.fromkeys([*self._judged, *self._classes]))
        self._answers = Answers(graph, self._values, self.samples, self.count, progress)

    def __call__(self, quantized: Graph) -> Accuracy:
        probe = Probe(quantized, self._values)
        noise, other = {name: Noise() for name in self._judged}, dict.fromkeys(self._classes, 0)
        asked = 0
        for sample, exact in self._answers:
            stored, batch = probe(sample), samples_in(sample)
            for name, one in noise.items():
                one.add(exact[name], stored[name])
            for name in self._classes:
                best = [best_classes(array, batch) for array in (exact[name], stored[name])]
                other[name] += int((best[0] != best[1]).sum())
            asked += len(best[0]) if self._classes else 0
        return Accuracy(min((one.sqnr for one in noise.values()), default=BEST), max(other.values()) / asked if asked else None)


def class_scores(graph: Graph) -> list[str]:
    """The float outputs that are scores of classes; a state is none."""
    batch = next((shape[0] for name in graph.given if (shape := graph.types[name].static_shape)), 1)
    return [name for name in graph.answered if graph.dtype(name).is_float and chooses(graph.types[name].static_shape, batch)]
