"""Histograms of values, and the range that an observer chooses from one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from edgec.quant.given.options import QuantizeOptions
from edgec.quant.ranges.clipping import PLACES, Tails, uncertainty

BINS = 2048
CAUTION = 2.0  # standard errors by which what a range cuts counts for more on other samples: what few of them have, some others will
LARGEST = float(np.finfo(np.float32).max)
ENOUGH = 1 << 16  # numbers of one value and sample that are counted
WHOLE = frozenset({"percentile"})  # observers that go by all numbers, exact zeros among them
TOGETHER = 16  # ranges whose errors are computed together
Range = tuple[float, float]


class Histogram:
    """Counts of a stream of numbers in BINS equal bins over [low, high].

    `weights` says how much each channel (axis 1) matters. `seen_as`: f(centers) where the numbers are only read through a function f.
    whole: whether `counts` are asked for.
    """

    def __init__(self, low: float, high: float, weights: np.ndarray | None = None, *, whole: bool = True) -> None:
        self.low, self.high = low, high
        self._whole = whole
        self.weights = np.ones(1) if weights is None else weights
        self.counts = np.zeros(BINS, np.int64)
        self.inexact = np.zeros(BINS)  # weighted, and without the exact zeros, which quantize without error
        self.seen_as: np.ndarray | None = None
        self.tails = [Tails(low, high)]  # of each value that is counted

    def add(self, values: np.ndarray) -> None:
        """Count the numbers of one sample, or evenly spread ones where there are very many."""
        step = values.size // ENOUGH + 1
        step += step % 2 == 0  # rows are often of even length
        flat = np.ascontiguousarray(values.ravel()[::step])
        span = self.high - self.low
        if span * LARGEST <= BINS:  # a range too small to be divided
            self.counts[0] += flat.size
            return
        number = np.float32 if span <= LARGEST else np.float64
        scaled = np.asarray(flat - number(self.low))
        scaled *= number(BINS / span)
        places = np.clip(scaled, 0, BINS - 1, out=scaled).astype(np.intp)
        if self._whole:
            self.counts += np.bincount(places, minlength=BINS)
        channels = len(self.weights)
        before = -(-np.arange(channels + 1) * (values.size // channels) // step)  # of the numbers, each channel
        weights = np.repeat(self.weights, np.diff(before))
        weights *= flat != 0
        inexact = np.bincount(places, weights, BINS)
        self.inexact += inexact
        self.tails[0].add(inexact)

    @property
    def centers(self) -> np.ndarray:
        return self.low + (np.arange(BINS) + 0.5) * ((self.high - self.low) / BINS)

    @property
    def edges(self) -> np.ndarray:
        return self.low + np.arange(BINS + 1) * ((self.high - self.low) / BINS)


def merged(parts: list[Histogram]) -> Histogram:
    """One histogram of all the parts' numbers, each bin counted at its centre."""
    if len(parts) == 1:
        return parts[0]
    whole = Histogram(min(part.low for part in parts), max(part.high for part in parts))
    span = whole.high - whole.low
    scale = BINS / span if span * LARGEST > BINS else 0.0  # a range too small to be divided is one bin
    for part in parts:
        places = (part.centers - whole.low) * scale
        bins = np.clip(places, 0, BINS - 1).astype(np.int64)
        whole.counts += np.bincount(bins, part.counts, BINS).astype(np.int64)
        whole.inexact += np.bincount(bins, part.inexact, BINS)
    whole.tails = [tails for part in parts for tails in part.tails]
    return whole


def quantization_error(
    centers: np.ndarray, counts: np.ndarray, low: np.ndarray | float, high: np.ndarray | float, seen_as: np.ndarray | None = None
) -> np.ndarray:
    """Sum of squared errors when the numbers are stored with 8 bits over [low, high]; of f(number) when `seen_as` is f(centers).

    low, high: one range, or [ranges, 1] of several.
    """
    step = (high - low) / 255
    offset = np.rint(-low / step)
    stored = np.rint(centers / step)
    stored += offset
    np.clip(stored, 0, 255, out=stored)
    stored -= offset
    stored *= step
    errors = np.subtract(centers, stored, out=stored) if seen_as is None else seen_as - np.interp(stored, centers, seen_as)
    np.square(errors, out=errors)
    errors *= counts
    return np.asarray(errors.sum(axis=-1))


def by_minmax(histogram: Histogram, options: QuantizeOptions) -> Range:
    return histogram.low, histogram.high


def by_percentile(histogram: Histogram, options: QuantizeOptions) -> Range:
    """The range that leaves out the same share of numbers, 100 - percentile, at either end."""
    rising = np.cumsum(histogram.counts)
    out = rising[-1] * (1 - options.percentile / 100)
    low = int(np.searchsorted(rising, out, side="right"))
    high = int(np.searchsorted(rising, rising[-1] - out, side="left"))
    edges = histogram.edges
    return float(edges[min(low, BINS - 1)]), float(edges[min(high, BINS - 1) + 1])


def by_mse(histogram: Histogram, options: QuantizeOptions) -> Range:
    """The range of the least squared error that other samples may have: both ends shrunk together, then each by itself."""
    low, high = min(0.0, histogram.low), max(0.0, histogram.high)
    if high <= low:
        return low, high
    centers, counts, edges, doubts = histogram.centers, histogram.inexact, histogram.edges, cut_doubts(histogram)

    def best(lows: np.ndarray, highs: np.ndarray) -> Range:
        parts = [slice(begin, begin + TOGETHER) for begin in range(0, len(lows), TOGETHER)]
        errors = [quantization_error(centers, counts, lows[part, None], highs[part, None], histogram.seen_as) for part in parts]
        doubt = np.interp(lows, edges, doubts[0]) + np.interp(highs, edges, doubts[1])
        place = np.argmin((np.concatenate(errors) + doubt) * (1 + 1e-9 * (low - lows + highs - high)))
        return float(lows[place]), float(highs[place])

    grid = np.linspace(1.0, 0.05, 96)
    lows, highs = low * grid, high * grid
    found = best(lows, highs)
    for _ in range(2 if low < 0 < high else 0):
        below = lows[lows < found[1]]
        found = best(below, np.full(len(below), found[1]))
        above = highs[found[0] < highs]
        found = best(np.full(len(above), found[0]), above)
    return found


def cut_doubts(histogram: Histogram) -> np.ndarray:
    """How much more than on these samples cutting below and above each edge may cost on others, [below, above] edges."""
    low, high, edges = histogram.low, histogram.high, histogram.edges
    ends = np.linspace(low, high, PLACES + 1)
    doubts = CAUTION * np.array([np.interp(edges, ends, side) for side in uncertainty(histogram.tails, low, high)])
    if histogram.seen_as is not None:  # steep or flat as the function is from there to the far end
        seen = np.interp(edges, histogram.centers, histogram.seen_as)
        for side, far in ((0, 0), (1, -1)):
            away = np.where(edges == edges[far], 1, edges - edges[far])
            doubts[side] *= ((seen - seen[far]) / away) ** 2
    return np.asarray(doubts)


def by_entropy(histogram: Histogram, options: QuantizeOptions) -> Range:
    """The range whose 256 levels keep the most information: least Kullback-Leibler divergence from the histogram."""
    low, high = min(0.0, histogram.low), max(0.0, histogram.high)
    if high <= low:
        return low, high
    centers, counts = histogram.centers, histogram.inexact

    def divergence(ends: Range) -> float:
        inside = (centers >= ends[0]) & (centers <= ends[1])
        if not inside.any() or not counts[inside].sum():
            return float("inf")
        reference = counts[inside].copy()
        reference[0] += counts[centers < ends[0]].sum()
        reference[-1] += counts[centers > ends[1]].sum()
        level = np.clip(((centers[inside] - ends[0]) * (256 / (ends[1] - ends[0]))).astype(np.int64), 0, 255)
        occupied = (counts[inside] > 0).astype(np.float64)
        share = np.bincount(level, counts[inside], 256) / np.maximum(np.bincount(level, occupied, 256), 1)
        stored = share[level] * occupied
        p, q = reference / reference.sum(), stored / stored.sum()
        both = (p > 0) & (q > 0)
        lost = p[(p > 0) & (q == 0)].sum()
        return float(np.sum(p[both] * np.log(p[both] / q[both])) + lost * 20)

    return min(((low * share, high * share) for share in np.linspace(1.0, 0.2, 81)), key=divergence)


CHOOSE: dict[str, Callable[[Histogram, QuantizeOptions], Range]] = {
    "minmax": by_minmax,
    "percentile": by_percentile,
    "mse": by_mse,
    "entropy": by_entropy,
}
