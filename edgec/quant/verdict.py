"""The last word on the steps that a search chose: samples that they were not fitted to compare what is left of them with plain min-max.

The search goes by the mean sample, and by some of the samples; a sample with what no other has hardly counts there. Here it does: what cuts
ranges must make the errors of all samples together less, and so must the steps as a whole, by more than a single sample brings about.
After a Sigmoid or Softmax few samples are all there is of the errors; then what it reads says whether they will be less on other samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log10

import numpy as np

from edgec.quant.scores import Score, certainty
from edgec.quant.steps import CUTTING, PLAIN, RISK, Choice

SURE = 1.5  # standard errors: what one sample alone gains is 1, however much it is
PLAINLY = 3.0  # where few of the samples judge
EVEN = 0.25  # an output that fewer of the samples make the most of, as a detector's that mostly sees nothing, must itself be sure
CLEAR = 3.0  # dB of what stands for it, with which it need not be

Judge = Callable[[Sequence[Choice]], Sequence[Score]]  # the scores of choices by the same samples


def verdict(choice: Choice, judge: Judge) -> Choice:
    """`choice`, or the same without what cuts ranges, or PLAIN; by all samples."""
    ways = ways_of(choice)
    plain, *scores = judge([PLAIN, *ways])
    ranked = list(zip(ways, scores, strict=True))
    if len(ranked) > 1 and not pays(*scores):
        ranked.reverse()
    return next((way for way, score in ranked if surely_better(score, plain)), PLAIN)


def stands(choice: Choice, judge: Judge, least: float) -> bool:
    """Whether some of the samples are enough to say that `choice` is the best of these. least: standard errors that it takes.

    Some are too few to say of the outputs what follows from what stands for them.
    """
    plain, whole, *rest = judge([PLAIN, *ways_of(choice)])
    sure = all(certainty(one) >= SURE for one in (plain.outputs - whole.outputs).T)
    return sure and surely_better(whole, plain, least) and all(pays(whole, uncut) and whole.surpasses(uncut) for uncut in rest)


def ways_of(choice: Choice) -> list[Choice]:
    """`choice`, and where it cuts ranges the same without."""
    uncut = {step: places for step, places in choice.items() if step not in CUTTING and places}
    return [choice, uncut] if any(choice.get(step) for step in CUTTING) else [choice]


def pays(cut: Score, uncut: Score) -> bool:
    """Whether cut ranges are worth their risk: better for the mean sample, and for all together, of which those that are cut decide."""
    return cut.ratio > uncut.ratio + RISK and bool(cut.shares.sum() < uncut.shares.sum())


def surely_better(found: Score, plain: Score, least: float = SURE) -> bool:
    """Whether the errors are less, and would hardly be more on other samples."""
    if certainty(plain.shares - found.shares) < least:
        return False
    clear = gain(found.shares, plain.shares) >= CLEAR
    kept = [certainty(one) > -SURE for one in (plain.judged - found.judged).T]
    behind = [certainty(one) for one in (plain.outputs - found.outputs).T]
    enough = np.where((plain.even < EVEN) & (not clear), least, 0.0)
    return all(kept) and all(one >= much for one, much in zip(behind, enough, strict=True))


def gain(found: np.ndarray, plain: np.ndarray) -> float:
    """dB of all samples together."""
    return 10 * log10(max(float(plain.sum()), 1e-300) / max(float(found.sum()), 1e-300))
