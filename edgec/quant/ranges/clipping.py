"""What a range that cuts costs, sample by sample: the energy of what lies beyond, and how far chance takes it on other samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

PLACES = 256  # where a range may end
TOGETHER = 16  # samples that are looked at together


class Tails:
    """Sums over samples, for PLACES + 1 ends over [low, high], of the energy beyond each end, and of its square."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high, self._count = low, high, 0
        self._waiting: list[np.ndarray] = []
        self._sums = np.zeros((2, 2, PLACES + 1))  # below, above; first and second power

    def add(self, counts: np.ndarray) -> None:
        """Add one sample, as the numbers in equal bins over [low, high]."""
        self._waiting.append(counts.reshape(PLACES, -1).sum(axis=1))
        if len(self._waiting) == TOGETHER:
            self._look()

    def _look(self) -> None:
        """Let the samples that wait count."""
        rising, width = np.array(self._waiting).reshape(-1, PLACES), (self.high - self.low) / PLACES
        beyond = np.stack([_beyond(rising[:, ::-1])[:, ::-1], _beyond(rising)], axis=1) * width**2
        for sample in np.stack([beyond, beyond**2], axis=2):
            self._sums += sample
        self._count += len(rising)
        self._waiting = []

    @property
    def chance(self) -> np.ndarray:
        """The standard error of the sums, [below, above] each end."""
        self._look()
        first, second = self._sums[:, 0], self._sums[:, 1]
        return np.asarray(np.sqrt(np.maximum(second - first**2 / max(1, self._count), 0)))


def _beyond(counts: np.ndarray) -> np.ndarray:
    """The energy above each end of the bins [samples, bins], in units of their width."""
    places = np.arange(PLACES)
    centers = places + 0.5
    number, linear, square = (np.cumsum((counts * power)[:, ::-1], axis=1)[:, ::-1] for power in (np.ones(PLACES), centers, centers**2))
    return np.pad(np.maximum(square - 2 * places * linear + places**2 * number, 0), ((0, 0), (0, 1)))


def uncertainty(parts: Sequence[Tails], low: float, high: float) -> np.ndarray:
    """The standard errors of several values' energy beyond each end of one range, added up, [below, above] PLACES + 1 ends over it."""
    ends = np.linspace(low, high, PLACES + 1)
    found = np.zeros((2, PLACES + 1))
    for part in parts:
        own = np.linspace(part.low, part.high, PLACES + 1)
        found += [np.interp(ends, own, side) for side in part.chance]
    return found
