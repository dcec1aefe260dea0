"""Judges by more and more samples: what was found is not found again, and one turn is fitted to at a time."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from edgec.quant.fits.folds import Folds
from edgec.quant.fits.judges import Judges
from edgec.quant.trials.steps import CORRECT, PLAIN, ROUND, Choice
from edgec.quant.trials.trial import Tried

CHOICE: Choice = {ROUND: frozenset({"a"})}
OTHER: Choice = {CORRECT: frozenset({"a"})}


class Told(Folds):
    """Two samples, whose errors are `error`; says what it is asked."""

    def __init__(self, name: str, error: float, asked: list[str]) -> None:
        super().__init__([], None)
        self._name, self._error, self._asked = name, error, asked

    def aside(self) -> Folds:
        return Told(f"{self._name} aside", self._error, self._asked)

    def _tried(self, choice: Choice, floats: Collection[str] = ()) -> list[Tried]:
        self._asked.append(f"{self._name}: {', '.join(choice) or 'plain'}")
        return [Tried(np.ones((2, 1)), np.full((2, 1), self._error), 1)]


def test_each_turn_is_made_when_it_is_needed_and_asked_nothing_twice() -> None:
    asked: list[str] = []

    def turn(name: str, error: float) -> Folds:
        asked.append(f"make {name}")
        return Told(name, error, asked)

    judges = Judges(Told("once", 0.1, asked), CHOICE, [lambda: turn("first", 0.2), lambda: turn("second", 0.4)])
    (once,) = judges.by(0)([CHOICE])
    assert asked == ["once: rounding"] and once.shares.tolist() == [0.05, 0.05]
    asked.clear()
    plain, found = judges.by(1)([PLAIN, CHOICE])
    assert asked == ["once aside: plain", "once: rounding", "make first", "first: plain", "first: rounding"]
    assert found.shares.tolist() == plain.shares.tolist() == [0.025, 0.025, 0.05, 0.05]
    asked.clear()
    assert [len(score.shares) for score in judges.by(2)([PLAIN, dict(CHOICE), OTHER])] == [6, 6, 6]
    assert [one for one in asked if "once" not in one] == [
        "first: bias correction", "make second", "second: plain", "second: rounding", "second: bias correction"
    ]  # fmt: skip
    asked.clear()
    judges.by(2)([{}, {**CHOICE, CORRECT: frozenset()}])
    assert not [one for one in asked if "once" not in one]
