"""Judges of choices by more and more samples: those that were held back so far, then others in turn, by what was fitted to the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from edgec.quant.fits.folds import Folds, told_apart
from edgec.quant.trials.scores import Score, scored
from edgec.quant.trials.steps import Choice
from edgec.quant.trials.trial import Tried
from edgec.quant.trials.verdict import Judge


class Judges:
    """Of which one turn is fitted to at a time."""

    def __init__(self, judged: Folds, choice: Choice, turns: Sequence[Callable[[], Folds]]) -> None:
        """judged: by what was held back so far; what was fitted for `choice` there is not given up for that of others."""
        self._judged, self._aside, self._choice, self._turns = judged, judged.aside(), choice, turns
        self._known: list[dict[Any, list[Tried]]] = [{} for _ in turns]
        self._open: tuple[int, Folds] | None = None

    @property
    def turns(self) -> int:
        """How many there are."""
        return len(self._turns)

    def by(self, turns: int) -> Judge:
        """The scores of choices by what was held back and by the first `turns`."""

        def judge(choices: Sequence[Choice]) -> list[Score]:
            once = [(self._judged if one is self._choice else self._aside).trials([one])[0] for one in choices]
            parts = [once, *(self._of(turn, choices) for turn in range(turns))]
            return [scored(list(chain(*each))) for each in zip(*parts, strict=True)]

        return judge

    def _of(self, turn: int, choices: Sequence[Choice]) -> list[list[Tried]]:
        known, keys = self._known[turn], [told_apart(one) for one in choices]
        missing = [one for one, key in zip(choices, keys, strict=True) if key not in known]
        if missing:
            known |= zip(map(told_apart, missing), self._opened(turn).trials(missing), strict=True)
        return [known[key] for key in keys]

    def _opened(self, turn: int) -> Folds:
        if self._open is None or self._open[0] != turn:
            self._open = None
            self._open = turn, self._turns[turn]()
        return self._open[1]
