"""The last word on the steps that a search chose: samples that they were not fitted to compare what is left of them with plain min-max.

The search goes by the mean sample, and by some of the samples; a sample with what no other has hardly counts there. Here it does: what cuts
ranges must make the errors of all samples together less, and the steps as a whole must not make them more.
That the steps help is known before anything is measured, so they need not be beyond doubt: by more than chance makes of it they must be
better for the mean sample, or else in the outputs, and nowhere measurably worse. After a Sigmoid or Softmax few samples are all there is of
an output's errors, and say little of those on other samples; what it reads says more, on every sample.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

import numpy as np

from edgec.quant.trials.scores import Score, certainty
from edgec.quant.trials.steps import CUTTING, PLAIN, RISK, ROUND, SOUND, Choice

SURE = 1.5  # standard errors: what one sample alone gains is 1, however much it is
PLAINLY = 3.0  # where few of the samples judge
AHEAD = 1.1  # enough where theory speaks for it, and more than one sample's doing
EVEN = 0.25  # an output that fewer of the samples make the most of, as a detector's that mostly sees nothing, says nothing for it

Judge = Callable[[Sequence[Choice]], Sequence[Score]]  # the scores of choices by the same samples


def verdict(choice: Choice, judge: Judge) -> Choice:
    """`choice`, or the same without what cuts ranges, or one step of it, or PLAIN; by all samples."""
    ways = ways_of(choice)
    plain, *scores = judge([PLAIN, *ways])
    ranked = list(zip(ways, scores, strict=True))
    if len(ranked) > 1 and not pays(*scores):
        ranked.reverse()
    found = next((way for way, score in ranked if better(score, plain)), None)
    return alone(ways[-1], plain, judge) if found is None else found


def final_verdict(choice: Choice, judges: Sequence[Judge]) -> Choice:
    """`verdict` by the last of the judges, of whom each has more samples than the one before; `choice` as soon as one of them is sure."""
    return choice if any(stands(choice, judge, SURE, 0.0) for judge in judges[:-1]) else verdict(choice, judges[-1])


def alone(choice: Choice, plain: Score, judge: Judge) -> Choice:
    """The one step of `choice` that is surely better, or PLAIN.

    Only of those that theory speaks for, and beyond doubt: one of several is soon better by chance.
    """
    ways: list[Choice] = [{step: places} for step, places in choice.items() if places and step in SOUND]
    if not ways or ways == [choice]:
        return PLAIN
    sure = [(certainty(plain.shares - score.shares), way) for way, score in zip(ways, judge(ways), strict=True) if better(score, plain)]
    best, found = max(sure, key=lambda one: one[0], default=(0.0, PLAIN))
    return found if best >= SURE else PLAIN


def stands(choice: Choice, judge: Judge, least: float, least_outputs: float = SURE) -> bool:
    """Whether some of the samples are enough to say that `choice` is the best of these. least: standard errors that it takes;

    least_outputs: that outputs take which others stand for, since some are too few to say of these what follows from what stands for them.
    """
    plain, whole = judge([PLAIN, choice])
    sure = certainty(plain.shares - whole.shares) >= least and min([inf, *certainties(plain.outputs, whole.outputs)]) >= least_outputs
    return sure and better(whole, plain) and all(cuts_rightly(choice, uncut, judge) for uncut in ways_of(choice)[1:])


def cuts_rightly(choice: Choice, uncut: Choice, judge: Judge) -> bool:
    """Whether that `choice` cuts ranges pays beyond doubt.

    Of weights that are rounded to nearest it is asked first: those add noise to both, so what pays there pays the more without it, and
    nothing more has to be gathered for it.
    """
    without = [{step: places for step, places in way.items() if step != ROUND} for way in (choice, uncut)]
    for ways in (without, (choice, uncut)):
        whole, other = judge(ways)
        if pays(whole, other) and whole.surpasses(other):
            return True
    return False


def ways_of(choice: Choice) -> list[Choice]:
    """`choice`, and where it cuts ranges the same without."""
    uncut = {step: places for step, places in choice.items() if step not in CUTTING and places}
    return [choice, uncut] if any(choice.get(step) for step in CUTTING) else [choice]


def pays(cut: Score, uncut: Score) -> bool:
    """Whether cut ranges are worth their risk: better for the mean sample, and for all together, of which those that are cut decide."""
    return cut.ratio > uncut.ratio + RISK and bool(cut.shares.sum() < uncut.shares.sum())


def better(found: Score, plain: Score) -> bool:
    """Whether the errors are less, and would hardly be more on other samples."""
    judged, outputs = (certainties(getattr(plain, of), getattr(found, of)) for of in ("judged", "outputs"))
    if found.shares.sum() > plain.shares.sum() or min([*judged, *outputs]) <= -SURE:
        return False
    by_outputs = bool(outputs) and bool((plain.even >= EVEN).all()) and min(outputs) >= AHEAD
    return by_outputs or found.ratio >= plain.ratio + AHEAD * found.chance(plain)


def certainties(plain: np.ndarray, found: np.ndarray) -> list[float]:
    """By how many standard errors each column's errors are less."""
    return [certainty(gains) for gains in (plain - found).T]
