"""Fits to some of the samples, judged on others."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from edgec.quant.decisions.without import without
from edgec.quant.fits.fit import Fit
from edgec.quant.given.options import Progress
from edgec.quant.trials.scores import Score, scored
from edgec.quant.trials.steps import Choice
from edgec.quant.trials.trial import Trial, Tried


class Folds:
    """Fits to some of the samples, each with the trial of what follows from it on others."""

    def __init__(self, pairs: Sequence[tuple[Fit, Trial]], progress: Progress | None) -> None:
        self.pairs, self._progress = pairs, progress
        self._found: dict[Any, list[Tried]] = {}

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def fits(self) -> list[Fit]:
        return [fit for fit, _ in self.pairs]

    @property
    def first(self) -> Fit:
        return self.pairs[0][0]

    def aside(self) -> Folds:
        """The same, which may be fitted to other choices without giving up what was fitted here."""
        other = Folds([(fit.aside(), trial) for fit, trial in self.pairs], self._progress)
        other._found = self._found
        return other

    def candidates(self, step: str, choice: Choice) -> list[str]:
        return list(dict.fromkeys(place for fit, _ in self.pairs for place in fit.candidates(step, choice)))

    def score(self, choice: Choice, floats: Collection[str] = ()) -> Score:
        """floats: nodes that stay in float besides."""
        return scored(self._tried(choice, floats))

    def trials(self, choices: Sequence[Choice]) -> list[list[Tried]]:
        """For each choice what each fold has."""
        return [self._tried(choice) for choice in choices]

    def _tried(self, choice: Choice, floats: Collection[str] = ()) -> list[Tried]:
        key = told_apart(choice), frozenset(floats)
        if key not in self._found:
            calibrations = [(fit.calibration(choice), trial) for fit, trial in self.pairs]
            self._found[key] = [trial(without(trial.graph, given, sorted(floats)) if floats else given) for given, trial in calibrations]
            if self._progress:
                self._progress("trials", len(self._found), 0)
        return self._found[key]


def told_apart(choice: Choice) -> frozenset[tuple[str, frozenset[str]]]:
    """What tells a choice from others."""
    return frozenset((step, taken) for step, taken in choice.items() if taken)
