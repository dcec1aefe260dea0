"""Channels that are equalized more, or less, than the steps do, and more of them.

How much of its unevenness a stream should leave to the weights depends on who reads it: a depthwise convolution has a scale for each
channel and takes all of it for nothing; the more a matrix of many columns takes, the coarser are the weights of its small columns. So the
steps are gone through again with other strengths. And linear streams are centred, see edgec/quant/channels/centre.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from edgec.ir.graph import Graph
from edgec.quant.channels.centre import linear_values
from edgec.quant.channels.equalize import Evenness
from edgec.quant.decisions.calibration import Calibration
from edgec.quant.fits.fitted import Fitted
from edgec.quant.given.options import Progress
from edgec.quant.trials.steps import BOUNDED, EQUALIZE, MILD, TIGHT, Choice

WAYS = (Evenness(0.5, 1.0), Evenness(0.75, 1.0), Evenness(0.25, 0.5))  # the nearest first


def evened_choices(choice: Choice, candidates: Callable[[str, Choice], Sequence[str]]) -> list[Choice]:
    """`choice`, if it equalizes anything, and the same where it equalizes all that is free."""
    without = {step: places for step, places in choice.items() if step not in (EQUALIZE, MILD)}
    free = frozenset(candidates(EQUALIZE, without))
    found = [choice] if any(choice.get(step) for step in (EQUALIZE, MILD, BOUNDED, TIGHT)) else []
    return [*found, *([{**without, EQUALIZE: free}] if free and choice.get(EQUALIZE) != free else [])]


def evened(graph: Graph, fitted: Fitted, progress: Progress | None) -> list[Callable[[], Fitted]]:
    """The steps with each of these, for all that they may choose; nothing where they equalize nothing."""
    start = fitted.start
    if start is None:
        return []
    fit = start.fit()

    def make(choice: Choice, evenness: Evenness) -> Fitted:
        return fitted.again(fit.evened(evenness, choice), choice)

    return [partial(make, choice, evenness) for choice in start.evened for evenness in WAYS]


def centred(graph: Graph, fitted: Fitted, progress: Progress | None) -> list[Callable[[], Fitted]]:
    """The steps as they were where linear streams are centred, and where all is equalized then; nothing where there are none."""
    start, values = fitted.start, linear_values(graph)
    if start is None or not values or not start.fit().knows(values):
        return []
    fit, centres = start.fit().centred(values)

    def finish(found: Calibration) -> Calibration:
        return replace(start.finish(found), model=fitted.calibration.model, centres=centres)

    choices = [start.choice, *(choice for choice in start.evened if choice != start.choice)]
    other = replace(fitted, start=replace(start, finish=finish))
    return [partial(other.again, fit, choice) for choice in choices]
