"""How large the errors of the network's outputs are, sample by sample, and how much of a difference is chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log, log10

import numpy as np

from edgec.quant.trials.trial import Tried
from edgec.records.diagnosis import BEST

WORSE = 2.0  # times the standard error: measurably
ROOT = 0.25  # the ratio adds these powers of the samples' error energies, so that none of them decides alone


@dataclass(frozen=True)
class Score:
    """judged: for each sample and each value that stands for an output, what its error is of the energy of all answers;

    outputs: the same for outputs that others stand for; even: how much of the samples make the energy of each, from 0 for one in very many
    to 1 for all alike.
    """

    judged: np.ndarray
    outputs: np.ndarray
    even: np.ndarray

    @property
    def shares(self) -> np.ndarray:
        """For each sample."""
        return np.asarray(self.judged.mean(axis=1))

    @property
    def roots(self) -> np.ndarray:
        return np.asarray(np.maximum(self.shares, 1e-300) ** ROOT)

    @property
    def ratio(self) -> float:
        """SQNR in dB of the mean sample."""
        return round(min(-10 / ROOT * log10(self.roots.mean()) - 10 * log10(len(self.shares)), BEST), 2)

    def surpasses(self, other: Score, least: float = WORSE) -> bool:
        """Measurably better for the mean sample, and no worse for all together, of which those with large errors decide.

        least: standard errors that it takes.
        """
        return self.ratio > other.ratio + least * self.chance(other) and float(self.shares.sum()) <= float(other.shares.sum())

    def doubt(self, other: Score) -> float:
        """By how many standard errors the output that loses most has more errors than `other`, of all samples together; 0: none has."""
        return max([0.0, *(-certainty(gains) for gains in (other.outputs - self.outputs).T)])

    def chance(self, other: Score) -> float:
        """The standard error in dB of the difference to `other`, as the samples differ in it."""
        count, mine, others = len(self.shares), self.roots, other.roots
        if count < 2:
            return 0.0
        apart = mine / mine.sum() - others / others.sum()
        return float(10 / ROOT / log(10) * np.sqrt(count / (count - 1) * np.square(apart).sum()))


def scored(trials: Sequence[Tried]) -> Score:
    """The score of the samples of all trials together."""
    signal, error = (np.concatenate([getattr(one, of) for one in trials]) for of in ("signal", "error"))
    whole, judges = signal.sum(axis=0), trials[0].judges
    shares = error / np.where(whole > 0, whole, inf)
    squares = len(signal) * np.square(signal).sum(axis=0)
    even = whole**2 / np.where(squares > 0, squares, inf)
    return Score(shares[:, :judges], shares[:, judges:], even[judges:])


def certainty(gains: np.ndarray) -> float:
    """How many standard errors of it the sum of the samples' gains is."""
    whole, count = float(gains.sum()), len(gains)
    chance = float(np.sqrt(count * gains.var(ddof=1))) if count > 1 else 0.0
    if chance > 0:
        return whole / chance
    return inf if whole >= 0 else -inf
