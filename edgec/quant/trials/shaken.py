"""Samples that are seen several times, each time moved by about a step of 8 bits: what they say is then less a matter of luck.

All numbers of a network are rounded, and by how much is chance. Of an output of a thousand numbers the errors of 25 samples tell two
networks apart; of one of ten numbers they are a tenth larger or smaller by luck, and the steps were chosen by just these samples, so theirs
is good luck. A number that is moved a little is rounded otherwise everywhere behind, and what the samples are of stays.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edgec.ir.graph import Graph
from edgec.quant.given.options import Sample, Samples
from edgec.quant.runs.thin import work
from edgec.quant.trials.trial import Trial, judged

NUMBERS = 1 << 14  # of all answers: of so many luck is a hundredth
MOST = 6  # times that a sample is seen
OPERATIONS = 1 << 36  # of one trial; where a sample is seen once it may take more
CODES = 64  # whole numbers that go so far are codes of a picture, others may be names of something


def shaken_trial(trial: Trial) -> Trial:
    """The trial on the same samples, each of which is seen as often as luck needs."""
    times = times_of(trial.graph, trial.count)
    return Trial(trial.graph, shaken(trial.samples, times), trial.count * times, trial.progress, times) if times > 1 else trial


def times_of(graph: Graph, count: int) -> int:
    numbers = sum(graph.types[name].elements for name in judged(graph))
    return max(1, min(MOST, NUMBERS // max(numbers * count, 1), OPERATIONS // (work(graph) * max(count, 1))))


def shaken(samples: Samples, times: int) -> Samples:
    """Each sample as it is, and then moved ones, `times` in all."""

    def opened() -> Iterator[Sample]:
        rng = np.random.default_rng(0)
        for sample in samples():
            yield sample
            for _ in range(times - 1):
                yield {name: moved(array, rng) for name, array in sample.items()}

    return opened


def moved(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each number but 0 a step up, a step down or as it is, between the ends of all; what is no float stays."""
    if array.dtype.kind != "f" or not array.size:
        return array
    low, high = float(array.min()), float(array.max())
    whole = high - low >= CODES and bool((array == np.rint(array)).all())
    step = array.dtype.type(1.0 if whole else (high - low) / 255)
    places = rng.integers(-1, 2, array.shape).astype(array.dtype)
    return np.asarray(np.clip(np.where(array == 0, array, array + step * places), low, high), array.dtype)
