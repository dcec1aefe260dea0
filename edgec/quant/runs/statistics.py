"""Passes over the samples: the extent of every value, then its histogram. Memory does not grow with the samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from edgec.base.errors import Problem, UsageError
from edgec.ir.graph import Graph
from edgec.quant.given.options import Progress, Samples
from edgec.quant.ranges.observers import Histogram
from edgec.quant.runs.float_run import Probe, watched

LEAN = 3.0  # codes above 0 for one below, at least, where factors follow Extent.upward
SHARES = 4  # parts of the samples, so that what is fitted to some can be measured on the others


@dataclass
class Extent:
    """Per channel (axis 1; one for all where a value has no channels): the least and the largest number seen, and

    the largest magnitude, its sum over samples and the sum of its squares; `bad` counts what was not finite, `hidden` of that what was
    minus infinity, `pixels` says that only 0, 1... 255 were seen.
    """

    channels: int
    low: np.ndarray = field(default_factory=lambda: np.zeros(0))
    high: np.ndarray = field(default_factory=lambda: np.zeros(0))
    largest: np.ndarray = field(default_factory=lambda: np.zeros(0))
    magnitude: np.ndarray = field(default_factory=lambda: np.zeros(0))
    square: np.ndarray = field(default_factory=lambda: np.zeros(0))
    bad: int = 0
    pixels: bool = True
    hidden: int = 0

    def __post_init__(self) -> None:
        self.low, self.high = np.full(self.channels, np.inf), np.full(self.channels, -np.inf)
        self.largest, self.magnitude, self.square = (np.zeros(self.channels) for _ in range(3))

    def add(self, values: np.ndarray) -> None:
        """Add the numbers of one sample; with channels: of shape [1, channels, ...]."""
        rows = values.reshape(self.channels, -1)
        if not rows.size:
            return
        low, high = rows.min(axis=1).astype(np.float64), rows.max(axis=1).astype(np.float64)
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            self.bad += int(values.size - np.isfinite(values).sum())
            self.hidden += int(np.isneginf(values).sum())
            return
        np.minimum(self.low, low, out=self.low)
        np.maximum(self.high, high, out=self.high)
        magnitude = np.maximum(high, -low)
        np.maximum(self.largest, magnitude, out=self.largest)
        self.magnitude += magnitude
        self.square += magnitude**2
        self.pixels = bool(self.pixels and low.min() >= 0 and high.max() <= 255 and high.max() > 1 and (rows == np.rint(rows)).all())

    def joined(self, other: Extent) -> Extent:
        """The extent over the samples of both."""
        both = Extent(self.channels, bad=self.bad + other.bad, pixels=self.pixels and other.pixels, hidden=self.hidden + other.hidden)
        both.low, both.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        both.largest = np.maximum(self.largest, other.largest)
        both.magnitude, both.square = self.magnitude + other.magnitude, self.square + other.square
        return both

    def between(self, ends: Extent) -> Extent:
        """The same magnitudes, between the ends of a larger part of the samples."""
        both = self.joined(ends)
        both.largest, both.magnitude, both.square = self.largest, self.magnitude, self.square
        return both

    def moved(self, middles: np.ndarray) -> Extent:
        """The same ends when each channel is less its middle; magnitudes do not follow from what is known, and are those of the ends."""
        other = Extent(self.channels, bad=self.bad, pixels=False)
        other.low, other.high = self.low - middles, self.high - middles
        other.largest = np.maximum(other.high, -other.low)
        return other

    def of(self, channels: list[int]) -> Extent:
        """The extent of some of the channels."""
        part = Extent(len(channels), bad=self.bad, pixels=self.pixels)
        part.low, part.high = self.low[channels], self.high[channels]
        part.largest, part.magnitude, part.square = self.largest[channels], self.magnitude[channels], self.square[channels]
        return part

    def typical(self, count: int) -> np.ndarray:
        """Per channel the mean over `count` samples of each sample's largest magnitude: one outlier does not decide."""
        return np.asarray(np.round(self.magnitude / count, 9))

    def expected(self, count: int) -> np.ndarray:
        """The same of a sample that is not among them: it may go, in any channel, as far as the widest channel goes.

        By the rule of succession that is one chance to as many as there are samples that speak for the channel.
        """
        typical, speak = self.typical(count), self.speak
        return np.asarray(np.round((speak * typical + typical.max(initial=0.0)) / (speak + 1), 9))

    @property
    def speak(self) -> np.ndarray:
        """How many samples speak for each channel: all of them, if it reaches the same magnitude in each; one, if only one made it fire."""
        return np.asarray(self.magnitude**2 / np.where(self.square > 0, self.square, 1))

    def upward(self) -> np.ndarray:
        """Per channel the largest number, or LEAN times the least one's magnitude if that is more.

        The channels of a value share its zero point. Behind a function the least number is much the same in all of them, and a channel that
        hardly leaves 0 may go as far below as above: were it stored by its magnitude, half of all channels' codes would lie below 0.
        """
        return np.asarray(np.maximum(np.maximum(self.high, 0.0), LEAN * np.maximum(-self.low, 0.0)))

    def ends(self, factors: np.ndarray | None) -> tuple[float, float]:
        """The range of the whole value when each channel is divided by its factor."""
        low, high = (self.low, self.high) if factors is None else (self.low / factors, self.high / factors)
        return float(low.min()), float(high.max())


def measure_extents(
    graph: Graph,
    values: Sequence[str],
    channels: Mapping[str, int],
    samples: Samples,
    progress: Progress | None,
    features: Mapping[str, int] | None = None,
) -> tuple[list[dict[str, Extent]], list[int]]:
    """The extents of `values` over each of SHARES parts of the samples, which take turns, and how many samples each part has.

    `channels` tells where axis 1 counts them, `features` where the last axis does.
    """
    probe = Probe(graph, values)
    last = features or {}
    extents = [{value: Extent(last.get(value, channels.get(value, 1))) for value in values} for _ in range(SHARES)]
    counts = [0] * SHARES
    for index, found in enumerate(probe.over(watched(samples, "ranges", progress, 0))):
        counts[index % SHARES] += 1
        for value, array in found:
            extents[index % SHARES][value].add(np.moveaxis(array, -1, 0) if value in last else array)
    check(graph, joined(extents), sum(counts))
    return extents, counts


def joined(parts: Sequence[Mapping[str, Extent]]) -> dict[str, Extent]:
    """The extents over several parts of the samples."""
    return {value: reduce(Extent.joined, (part[value] for part in parts)) for value in parts[0]}


def measure_histograms(
    graph: Graph,
    ends: Mapping[str, tuple[float, float]],
    weights: Mapping[str, np.ndarray],
    samples: Samples,
    count: int,
    progress: Progress | None,
    *,
    whole: bool = True,
) -> dict[str, Histogram]:
    """The histograms of the values of `ends` between those ends, each channel weighted. whole: with the counts of all numbers."""
    probe = Probe(graph, list(ends))
    histograms = {value: Histogram(*limits, weights.get(value), whole=whole) for value, limits in ends.items()}
    for found in probe.over(watched(samples, "histograms", progress, count)):
        for value, array in found:
            histograms[value].add(array)
    return histograms


class MinusInfinityError(UsageError):
    """Some of the numbers of these values are minus infinity, as of scores that a mask hides from a Softmax; all others are finite."""

    def __init__(self, values: frozenset[str]) -> None:
        super().__init__(
            "no 8 bits hold minus infinity", [Problem("some of its numbers are minus infinity", value) for value in sorted(values)]
        )
        self.values = values


def check(graph: Graph, extents: Mapping[str, Extent], count: int) -> None:
    """Refuse what no parameters can be chosen from: no samples, values that are not finite, an input that never changes."""
    if not count:
        raise UsageError("the calibration data is empty", hint="give at least one sample; about 100 are usual")
    problems = []
    hidden = frozenset(value for value, extent in extents.items() if 0 < extent.bad == extent.hidden and value not in graph.inputs)
    for value, extent in extents.items():
        if extent.bad and value not in hidden:
            problems.append(Problem(f"{extent.bad} numbers are NaN or infinite", value, "check the calibration data and its preprocessing"))
        elif value in graph.inputs and extent.low.min() == extent.high.max():
            fixed = f", or fix it with --constant {value}={np.float32(extent.low.min())!s}" if graph.types[value].elements == 1 else ""
            problems.append(Problem(f"every number is {extent.low.min():g}", value, f"calibrate with real data{fixed}"))
    if problems:
        raise UsageError("the calibration data cannot be used", problems)
    if hidden:
        raise MinusInfinityError(hidden)
