"""Whether a classifier tells its calibration samples apart, and whether it would if its pictures were prepared otherwise.

What it tells of a sample is measured in bits: H(mean of p) - H(p), averaged, for the probabilities p of each sample; log2(samples) at most.
A network that is given numbers of the wrong size says the same of everything, or is unsure of everything: both are few bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice

import numpy as np

from edgec.base.classes import class_count
from edgec.ir.graph import Graph
from edgec.quant.given.options import Sample, Samples
from edgec.quant.runs.float_run import Probe
from edgec.quant.trials.trial import judged

ASKED = 10  # samples
CLASSES = 3  # fewer numbers are hardly classes
SURE = 0.5  # mean probability of the class that is named
GAIN, FACTOR = 1.0, 1.5  # bits more, and times as many: what numbers of the wrong size cost, and no wrong mean or deviation does
MEAN, DEVIATION = np.array((0.485, 0.456, 0.406)), np.array((0.229, 0.224, 0.225))
TINY = 1e-30

Convert = Callable[[np.ndarray], np.ndarray]

# pictures as [..., channels] of 0..1, from and to what networks are usually given
FROM: Mapping[str, Convert] = {
    "0..255": lambda x: x / 255,
    "-128..127": lambda x: (x + 128) / 255,
    "0..1": lambda x: x,
    "-1..1": lambda x: (x + 1) / 2,
    "normalized by mean and deviation": lambda x: x * _of(DEVIATION, x) + _of(MEAN, x),
}
TO: Mapping[str, Convert] = {
    "0..255": lambda x: x * 255,
    "-1..1": lambda x: x * 2 - 1,
    "normalized by mean and deviation": lambda x: (x - _of(MEAN, x)) / _of(DEVIATION, x),
}


def doubt_preparation(graph: Graph, samples: Samples, count: int) -> list[str]:
    """What the network's own answers to some of `count` samples say against them, in words."""
    if count < ASKED or not _classifies(graph):
        return []
    step = count // ASKED  # they may be in order of their classes
    asked = list(islice(samples(), 0, step * ASKED, step))
    probe = Probe(graph, judged(graph))

    def probabilities(given: list[Sample]) -> np.ndarray:
        return np.stack([_softmax(probe(sample)[probe.values[0]]) for sample in given])

    told = probabilities(asked)
    named = told.argmax(axis=1)
    notes = []
    if len(set(named.tolist())) == 1 and told.max(axis=1).mean() >= SURE:
        notes = [f"the float model gives class {named[0]} to each of {ASKED} calibration samples: samples of every class calibrate better"]
    return notes + _prepared_otherwise(graph, asked, bits(told), lambda given: bits(probabilities(given)))


def bits(told: np.ndarray) -> float:
    """What probabilities [samples, classes] say of which sample it was."""

    def entropy(p: np.ndarray) -> np.ndarray:
        return np.asarray(-(p * np.log2(np.maximum(p, TINY))).sum(axis=-1))

    return float(entropy(told.mean(axis=0)) - entropy(told).mean())


def _prepared_otherwise(graph: Graph, asked: list[Sample], now: float, told: Callable[[list[Sample]], float]) -> list[str]:
    """A note for the preparation of whose pictures the network tells much more, if there is one."""
    name, axis = graph.inputs[0], _channels(graph)
    if axis is None:
        return []
    pictures = [np.moveaxis(np.asarray(sample[name], np.float64), axis, -1) for sample in asked]
    given = scale_of(np.stack(pictures))
    found = {}
    for other, convert in TO.items():
        if given not in (None, other):
            changed = [np.moveaxis(convert(FROM[given](picture)), -1, axis) for picture in pictures]
            found[other] = told([{name: np.ascontiguousarray(array, np.float32)} for array in changed])
    best = max(found, key=lambda other: found[other], default="")
    if not best or found[best] < max(now + GAIN, now * FACTOR):
        return []
    what = f"the float model tells {ASKED} calibration samples apart by {now:.1f} bits"
    return [f"{what}; were they {best} in place of {given}, by {found[best]:.1f}: check how they are prepared, see [preprocess]"]


def scale_of(pictures: np.ndarray) -> str | None:
    """How pictures were prepared, as far as their numbers say."""
    low, high = float(pictures.min()), float(pictures.max())
    fits = {
        "0..1": low >= 0 and high <= 1,
        "0..255": low >= 0 and 8 < high <= 255,
        "-1..1": -1 <= low < 0 and high <= 1,
        "normalized by mean and deviation": -2.2 <= low < 0 and 1 < high <= 2.7,
        "-128..127": -128 <= low < -8 and 8 < high <= 128,
    }
    return next((name for name, holds in fits.items() if holds), None)


def _classifies(graph: Graph) -> bool:
    """One float input, and one output: the scores of one sample."""
    names = judged(graph)
    counts = [class_count(graph.types[name].static_shape, 1) for name in (*graph.outputs, *names)]
    return len(graph.inputs) == len(graph.outputs) == len(names) == 1 and min(counts) >= CLASSES and graph.dtype(graph.inputs[0]).is_float


def _channels(graph: Graph) -> int | None:
    """The axis of the channels of an input that is one gray or coloured picture."""
    shape = graph.types[graph.inputs[0]].shape
    return next((axis for axis in (1, 3) if len(shape) == 4 and shape[0] == 1 and shape[axis] in (1, 3)), None)


def _softmax(scores: np.ndarray) -> np.ndarray:
    row = scores.reshape(-1).astype(np.float64)
    powers = np.exp(row - row.max())
    return np.asarray(powers / powers.sum())


def _of(values: np.ndarray, picture: np.ndarray) -> np.ndarray:
    """For each channel, or of gray the mean."""
    return values if picture.shape[-1] == values.size else values.mean(keepdims=True)
