"""What high effort adds to the usual steps: levers, each of which makes calibrations that may be better of the one that is there.

A step of edgec/quant/steps.py is decided before anything is measured; a lever begins where the steps have ended, so what it looks at is the
network as it will be stored. It is pulled once for each fold, and on the samples that it was not fitted to the best of what it made is held
against what was there: it stays where it is better for the mean sample, by more than chance makes of it, and for all samples together.
Of what it made the first is the nearest to what was there, and each other one must be as much better than those before it.
High effort shall not cost anything, so behind a Softmax or Sigmoid no output may have more errors either, though few samples say so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from edgec.ir.graph import Graph
from edgec.quant.calibration import Calibration
from edgec.quant.echoes import echoed
from edgec.quant.options import Progress, QuantizeOptions, Samples
from edgec.quant.report import StepReport
from edgec.quant.scores import Score, scored
from edgec.quant.settle import settled
from edgec.quant.trial import Trial

AHEAD = 1.0  # standard errors that a lever must gain
Pull = Callable[[Graph, Calibration, Samples, int, Progress | None], Sequence[Calibration]]


@dataclass(frozen=True)
class Lever:
    """pull: what to try, as many for every calibration, fitted to so many samples; wanted: the option that asks for it."""

    name: str
    pull: Pull
    wanted: Callable[[QuantizeOptions], bool]


# in order: a bias makes up for what the ranges have left
LEVERS = (
    Lever("ranges by output error", echoed, lambda options: options.observer != "minmax"),
    Lever("bias correction by propagated error", settled, lambda options: options.correct_bias),
)


@dataclass(frozen=True)
class Fitted:
    """A calibration, and the samples that it was fitted to."""

    calibration: Calibration
    samples: Samples
    count: int


@dataclass(frozen=True)
class Pulled:
    """A lever that stays, and which of the calibrations that it makes."""

    lever: Lever
    way: int

    def __call__(self, graph: Graph, fitted: Fitted, progress: Progress | None) -> Fitted:
        made = self.lever.pull(graph, fitted.calibration, fitted.samples, fitted.count, progress)
        return replace(fitted, calibration=made[self.way])


Folds = Sequence[tuple[Fitted, Trial]]  # each with the trial of what is made of it, on other samples


def with_levers(graph: Graph, folds: Folds, last: Fitted, options: QuantizeOptions, *, anew: bool) -> tuple[Calibration, list[StepReport]]:
    """What the levers that stay make of `last`, and what each of all was worth; without folds nothing is tried.

    anew: `last` is none of the folds, but fitted to all samples.
    """
    if not folds:
        return last.calibration, []
    pulled, after, reports = pull_levers(graph, folds, options)
    if not anew:
        return after[0], reports
    return reduce(lambda found, lever: lever(graph, found, options.progress), pulled, last).calibration, reports


def pull_levers(
    graph: Graph, folds: Folds, options: QuantizeOptions, levers: Sequence[Lever] = LEVERS
) -> tuple[list[Pulled], list[Calibration], list[StepReport]]:
    """The levers that stay, what they make of each fold's calibration, and what each of all was worth."""

    def score(calibrations: Sequence[Calibration]) -> Score:
        return scored([trial(one) for (_, trial), one in zip(folds, calibrations, strict=True)])

    taken, reports = list[Pulled](), list[StepReport]()
    current = [fitted.calibration for fitted, _ in folds]
    best = score(current)
    for lever in levers:
        if not lever.wanted(options):
            continue
        made = [lever.pull(graph, one, of.samples, of.count, options.progress) for (of, _), one in zip(folds, current, strict=True)]
        ways = list(zip(*made, strict=True))
        scores, stays = [score(way) for way in ways], None
        before, most = best, max(one.ratio for one in scores)
        for way, found in enumerate(scores):
            if found.surpasses(best, AHEAD) and found.spares_outputs(best):
                current, best, stays = list(ways[way]), found, way
        if stays is not None:
            taken.append(Pulled(lever, stays))
        reports.append(StepReport(lever.name, 1, int(stays is not None), before.ratio, most, best.ratio))
    return taken, current, reports
