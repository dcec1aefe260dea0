"""How a quantized graph's answers compare with those of the float graph: what a goal is about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgec.base.classes import best_classes, chooses, samples_in
from edgec.ir.graph import Graph
from edgec.quant.given.goal import Accuracy
from edgec.quant.given.options import Progress, Samples
from edgec.quant.runs.float_run import Probe
from edgec.quant.runs.noise import Noise
from edgec.quant.trials.scores import scored
from edgec.quant.trials.shares import some
from edgec.quant.trials.trial import Answers, Tried, float_outputs, judged
from edgec.records.diagnosis import BEST

JURORS = 256  # samples at most


class Jury:
    """Judges quantized graphs by `most` of `count` samples: their answers, and what a final Softmax or Sigmoid reads, of which every sample
    says something and not only the doubtful ones.

    apart: whether nothing was fitted to the samples. steady: of such a function's answers the mean sample counts, so that no doubtful one
    decides by itself.
    """

    def __init__(
        self,
        graph: Graph,
        samples: Samples,
        count: int,
        apart: bool,
        progress: Progress | None,
        most: int = JURORS,
        *,
        steady: bool = False,
    ) -> None:
        self.samples, self.count, self.apart = some(samples, count, most), min(count, most), apart
        stands = judged(graph)
        behind = [name for name in float_outputs(graph) if name not in stands]
        self._whole, self._mean = (stands, behind) if steady else ([*stands, *behind], [])
        self._classes = class_scores(graph)
        self._values = list(dict.fromkeys([*stands, *behind, *self._classes]))
        self._answers = Answers(graph, self._values, self.samples, self.count, progress)

    def __call__(self, quantized: Graph) -> Accuracy:
        probe = Probe(quantized, self._values)
        noise, other = {name: Noise() for name in self._whole}, dict.fromkeys(self._classes, 0)
        apart: dict[str, list[tuple[float, float]]] = {name: [] for name in self._mean}
        asked = 0
        for sample, exact in self._answers:
            stored, batch = probe(sample), samples_in(sample)
            for name, whole in noise.items():
                whole.add(exact[name], stored[name])
            for name, energies in apart.items():
                one = Noise()
                one.add(exact[name], stored[name])
                energies.append((one.signal, one.error))
            for name in self._classes:
                best = [best_classes(array, batch) for array in (exact[name], stored[name])]
                other[name] += int((best[0] != best[1]).sum())
            asked += len(best[0]) if self._classes else 0
        ratios = [*(one.sqnr for one in noise.values()), *map(mean_sample, apart.values())]
        return Accuracy(min(ratios, default=BEST), max(other.values()) / asked if asked else None)


def mean_sample(energies: Sequence[tuple[float, float]]) -> float:
    """The SQNR of the mean sample, of energies of answers and of their errors."""
    found = np.array(energies).reshape(-1, 2)
    return scored([Tried(found[:, :1], found[:, 1:], 1)]).ratio


def class_scores(graph: Graph) -> list[str]:
    """The float outputs that are scores of classes; a state is none."""
    batch = next((shape[0] for name in graph.given if (shape := graph.types[name].static_shape)), 1)
    return [name for name in graph.answered if graph.dtype(name).is_float and chooses(graph.types[name].static_shape, batch)]
