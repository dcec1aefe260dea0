"""The steps beyond plain min-max, each kept only where it makes the network's outputs better on samples that it was not fitted to.

A step can be taken in some places and left in others: streams of channels, values, layers. It is tried everywhere, and from the better
of everywhere and nowhere on, group by group of neighbouring places, the other way. Plain min-max, where no step is taken anywhere, is
where the search begins, and nothing is accepted that is worse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import log, log10

import numpy as np

from edgec.diagnosis import BEST
from edgec.quant.options import QuantizeOptions
from edgec.quant.report import StepReport

Choice = Mapping[str, frozenset[str]]  # the places where each step is taken
PLAIN: Choice = {}
SPLIT, EQUALIZE, OBSERVE = "channel splitting", "equalization", "observer"
BOUNDED, TIGHT = "equalization through Clip", "equalization through Clip by typical numbers"
SCALE, ROUND, CORRECT = "weight scales", "rounding", "bias correction"

# in order, since each is fitted to what those before it left; and the option that asks for it
STEPS: dict[str, Callable[[QuantizeOptions], bool]] = {
    SPLIT: lambda options: options.equalize,
    EQUALIZE: lambda options: options.equalize,
    BOUNDED: lambda options: options.equalize,
    TIGHT: lambda options: options.equalize,
    OBSERVE: lambda options: options.observer != "minmax",
    SCALE: lambda options: options.round_weights,
    ROUND: lambda options: options.round_weights,
    CORRECT: lambda options: options.correct_bias,
}
GROUPS = 4  # of places that are tried apart


def places(choice: Choice, step: str) -> frozenset[str]:
    return choice.get(step, frozenset())


def upto(choice: Choice, last: str) -> tuple[frozenset[str], ...]:
    """What is chosen of the steps up to `last`."""
    names = list(STEPS)
    return tuple(places(choice, step) for step in names[: names.index(last) + 1])


@dataclass(frozen=True)
class Score:
    """shares: for each sample that judges, what its error is of the energy of all answers."""

    shares: np.ndarray

    @property
    def ratio(self) -> float:
        """SQNR in dB."""
        return round(min(-10 * log10(max(float(self.shares.sum()), 1e-300)), BEST), 2)

    def chance(self, other: Score) -> float:
        """The standard error in dB of the difference to `other`, as the samples differ in it."""
        count, whole = len(self.shares), float(self.shares.sum())
        if count < 2 or whole <= 0 or other.shares.sum() <= 0:
            return 0.0
        apart = self.shares - other.shares * (whole / other.shares.sum())
        return float(10 / log(10) * np.sqrt(count / (count - 1) * np.square(apart).sum()) / whole)


def search(
    candidates: Callable[[str, Choice], Sequence[str]], score: Callable[[Choice], Score], options: QuantizeOptions
) -> tuple[Choice, list[StepReport]]:
    """The best choice found, and what each step was worth.

    candidates: where a step can be taken, given the steps before it, in the order of the graph.
    """
    choice, best = PLAIN, score(PLAIN)
    reports = []
    for step, wanted in STEPS.items():
        if wanted(options) and (offered := candidates(step, choice)):
            before = best
            choice, best, everywhere = take(step, offered, choice, best, score)
            reports.append(StepReport(step, len(offered), len(places(choice, step)), before.ratio, everywhere.ratio, best.ratio))
    return choice, reports


def take(step: str, offered: Sequence[str], choice: Choice, best: Score, score: Callable[[Choice], Score]) -> tuple[Choice, Score, Score]:
    """The choice with `step` where it helps, its score, and the score of the step taken everywhere.

    A group goes its own way only for a gain that is hardly chance: of many that gain nothing some always seem to.
    """
    whole = {**choice, step: frozenset(offered)}
    everywhere = score(whole)
    if everywhere.ratio > best.ratio:
        choice, best = whole, everywhere
    size = -(-len(offered) // GROUPS)
    groups = [offered[begin : begin + size] for begin in range(0, len(offered), size)]
    for group in groups if len(groups) > 1 else []:
        other = {**choice, step: places(choice, step) ^ frozenset(group)}
        found = score(other)
        if found.ratio > best.ratio + found.chance(best):
            choice, best = other, found
    return choice, best, everywhere
