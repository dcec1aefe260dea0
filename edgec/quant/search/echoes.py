"""Ranges by what the network's answers lose: a value is stored in 8 bits, and all behind it computes in float.

What one value's errors do to the answers is measured without those of all others, so a few samples tell two ranges apart, and since
errors are small, their effects add up: the best range of each value by itself is the best for all. An observer sees the numbers only;
here it counts what the layers behind make of them.

A range that cuts what few samples have may be too narrow for others. So those in which a value goes furthest are always heard, what counts
is the sum of all errors and the doubt about it, and ranges half as far from those before are to be tried too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property, partial
from math import isfinite

import numpy as np

from edgec.base.budget import check_time
from edgec.ir.graph import Graph
from edgec.quant.decisions.twins import stored_twin
from edgec.quant.fits.fitted import Fitted
from edgec.quant.given.options import Progress
from edgec.quant.ranges.observers import Histogram, Range
from edgec.quant.ranges.parameters import Parameters, choose_parameters
from edgec.quant.search.listen import SCANNED, Crowd, Few, Listener

LOUD = 0.003  # of the noise that all values make: one that makes less of it keeps its range
FEWEST, MOST = 12, 64  # samples that are listened to for a loud value
VALUES = 400  # that are listened to in all, each time by another sample
COARSE, FINE = (0.65, 0.75, 0.87, 1.15), (0.94, 1.06)  # widths, of the best range so far
BOTH, LOW, HIGH = (1, 1), (1, 0), (0, 1)  # ends that move
SHARES = (0.5, 1.0)  # of the way from the ranges before
CAUTION = 1.0  # standard errors by which a range must be better


def echoed(graph: Graph, fitted: Fitted, progress: Progress | None) -> list[Callable[[], Fitted]]:
    """The calibration with ranges that go half as far as those of the least error, and with these."""
    calibration = fitted.calibration
    stored, selection = stored_twin(graph, calibration)
    known, values = calibration.parameters, selection.values
    ends = {value: Histogram(*known[value].range) for value in values}
    pixels = [value for value in values if known[value].scale == 1.0]
    echoes = Echoes(stored, lambda: Crowd(stored, values, fitted, progress), len(values), progress)

    def parameters(range_of: Callable[[tuple[str, ...], Range], Range]) -> dict[str, Parameters]:
        return choose_parameters(stored, selection, ends, lambda members, _: range_of(members, known[members[0]].range), pixels)

    def make(share: float) -> Fitted:
        def between(members: tuple[str, ...], start: Range) -> Range:
            low, high = echoes.best(members, start)
            return part_of_way(start[0], low, share), part_of_way(start[1], high, share)

        parameters(echoes.heard)  # how loud all are comes first
        return fitted.remade(replace(calibration, parameters=parameters(between)))

    return [partial(make, share) for share in SHARES]


def part_of_way(start: float, end: float, share: float) -> float:
    """From one end of a range to another that has the same sign, where factors count alike."""
    return start * (end / start) ** share if start else end


class Echoes:
    """Chooses ranges for values of `graph` by the answers to a few of a crowd: first all values are heard, then the loud ones."""

    def __init__(self, graph: Graph, crowd: Callable[[], Crowd], total: int, progress: Progress | None) -> None:
        self._graph, self._gather = graph, crowd
        self._total, self._progress, self._told = total, progress, 0
        self._noise: dict[tuple[str, ...], float] = {}
        self._known: dict[tuple[str, ...], Range] = {}

    @cached_property
    def _crowd(self) -> Crowd:
        return self._gather()

    def heard(self, members: tuple[str, ...], start: Range) -> Range:
        """Hear how loud values that share a range are; they keep it. Those whose answers are no numbers are not heard."""
        if members not in self._noise:
            few = self._crowd.spread(SCANNED)
            with self._timed(members):
                errors = self._errors(members, few)([start])
                noise = float(errors.mean())
                self._noise[members] = noise if isfinite(noise) else 0.0
        return start

    def best(self, members: tuple[str, ...], start: Range) -> Range:
        """The range of the least error, for values that share one; `start`, unless they are loud and another is measurably better."""
        self.heard(members, start)
        limit = LOUD * sum(self._noise.values())
        if self._noise[members] <= limit:
            return start
        if members not in self._known:
            loud = sum(noise > limit for noise in self._noise.values())
            with self._timed(members):
                few = self._crowd.far(members, start, min(MOST, max(FEWEST, VALUES // loud)))
                self._known[members] = narrowed(start, self._errors(members, few), few.weights, few.furthest)
        return self._known[members]

    def _errors(self, members: Sequence[str], few: Few) -> Callable[[Sequence[Range]], np.ndarray]:
        """[samples, ranges]: of all of these together."""
        listeners = [Listener(self._graph, member, few) for member in members if member not in self._graph.constants]
        return lambda ranges: np.sum([listener(ranges) for listener in listeners], axis=0)

    @contextmanager
    def _timed(self, members: Sequence[str]) -> Iterator[None]:
        started = time.monotonic()
        yield
        check_time(f"the ranges of {members[0]}", started)
        if self._progress:
            self._told = min(self._told + 1, self._total)
            self._progress("ranges by output error", self._told, self._total)


def narrowed(start: Range, errors: Callable[[Sequence[Range]], np.ndarray], weights: np.ndarray, furthest: int) -> Range:
    """The range of the least error near `start`: both ends together, each by itself, and a little to either side.

    weights, furthest: see Few. Of the samples that are there by chance others may say otherwise, so what they say counts less its doubt.
    """
    known = {start: errors([start])[:, 0]}
    apart = start[0] < 0 < start[1]
    ends = (BOTH, LOW, HIGH) if apart else (BOTH,)
    shares = weights / weights.sum()

    def cost(limits: Range) -> float:
        more = known[limits] - known[start]
        seen = more[furthest:]
        doubt = seen.std(ddof=1) / len(seen) ** 0.5 * shares[furthest:].sum() if len(seen) > 1 else 0.0
        return float(shares @ more + CAUTION * doubt)

    best = start
    for widths, sides in ((COARSE, ends), (FINE, (BOTH,))):
        for low, high in sides:
            ranges = [(best[0] * width**low, best[1] * width**high) for width in widths]
            new = [limits for limits in dict.fromkeys(ranges) if limits not in known]
            known |= dict(zip(new, errors(new).T, strict=True)) if new else {}
            best = min([best, *ranges], key=cost)
    return best
