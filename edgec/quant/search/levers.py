"""What follows the usual steps: levers, each of which makes calibrations that may be better of the one that is there.

Normal effort pulls one, which needs no more than the steps once again, where samples were held back that are enough to judge. High effort
begins where normal effort ends, and pulls all of them; there all samples judge, each share what was fitted to the others, and what stays
is fitted to all of them or to most, see luckiest() of edgec/quant/fits/final.py.

A step of edgec/quant/trials/steps.py is decided before anything is measured; a lever begins where the steps have ended, so what it looks at
is the network as it will be stored. It is pulled once for each fold, and on the samples that it was not fitted to the best of what it made
is held against what was there: it stays where it is better for the mean sample, by more than chance makes of it, and for all samples
together. Of what it made the first is the nearest to what was there, and each other one must be as much better than those before it. What
is measurably worse for the first fold is not made for the others. The steps were chosen by the samples that judge, so what they say for
these is partly luck; high effort sees them shaken, see edgec/quant/trials/shaken.py. High effort shall not cost anything. Behind a Softmax
or Sigmoid few samples make the errors of an output and say little of others, so where these lose, what stands for the output must gain so
much the more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import inf

from edgec.ir.graph import Graph
from edgec.quant.channels.centre import linear_values
from edgec.quant.decisions.calibration import Calibration
from edgec.quant.fits.fitted import Fitted
from edgec.quant.given.options import Progress, QuantizeOptions
from edgec.quant.search.echoes import echoed
from edgec.quant.search.evening import centred, evened
from edgec.quant.search.finer import finely_rounded
from edgec.quant.search.settle import settled
from edgec.quant.trials.scores import Score, scored
from edgec.quant.trials.shaken import shaken_trial
from edgec.quant.trials.steps import StepReport
from edgec.quant.trials.trial import Trial, Tried
from edgec.quant.trials.verdict import EVEN, PLAINLY

AHEAD = 1.0  # standard errors that a lever must gain
LEAST = 0.1  # dB: with less than that other data may say otherwise
DOUBT = 2.0  # standard errors more that it takes for each by which an output loses: one sample that makes an output is 1, whatever it loses
MOST_DOUBT = 1.5  # by then an output is measurably worse
Make = Callable[[], Fitted]
Pull = Callable[[Graph, Fitted, Progress | None], Sequence[Make]]


@dataclass(frozen=True)
class Lever:
    """pull: what to try, as many ways for every fold, each made when it is called; wanted: the option that asks for it."""

    name: str
    pull: Pull
    wanted: Callable[[QuantizeOptions], bool]


CENTRED = Lever("centred streams", centred, lambda options: options.equalize)
# in order: what begins with the steps anew comes first, and a bias makes up for what the ranges have left
LEVERS = (
    CENTRED,
    Lever("evenness of channels", evened, lambda options: options.equalize),
    Lever("ranges by output error", echoed, lambda options: options.observer != "minmax"),
    Lever("finer rounding", finely_rounded, lambda options: options.round_weights and options.correct_bias),
    Lever("bias correction by propagated error", settled, lambda options: options.correct_bias),
)


# of normal effort, the first of the ways
USUAL = Lever(CENTRED.name, lambda graph, fitted, progress: centred(graph, fitted, progress)[:1], CENTRED.wanted)


@dataclass(frozen=True)
class Pulled:
    """A lever that stays, and which of the calibrations that it makes."""

    lever: Lever
    way: int

    def __call__(self, graph: Graph, fitted: Fitted, progress: Progress | None) -> Fitted:
        return self.lever.pull(graph, fitted, progress)[self.way]()


def usual_levers(graph: Graph, options: QuantizeOptions) -> Sequence[Lever]:
    """Those of normal effort, and of high effort before all others."""
    return (USUAL,) if options.effort != "fast" and options.equalize and linear_values(graph) else ()


Folds = Sequence[tuple[Fitted, Trial]]  # each with the trial of what is made of it, on other samples


def with_levers(
    graph: Graph, folds: Folds, usual: Fitted, whole: Callable[[], Fitted] | None, options: QuantizeOptions, before: Sequence[Lever],
    levers: Sequence[Lever],
) -> tuple[list[Calibration], list[StepReport]]:  # fmt: skip
    """What the levers that stay make of `whole` and of each fold, from which one is to be chosen; and what each lever was worth.

    usual: what there is where none stays; whole: what the steps make of all samples; None: some are needed to judge, and the first fold is
    what there is. before: what normal effort pulls.
    """
    trials = [trial for _, trial in folds]
    after = [replace(fitted, judges=(trial.samples, trial.count)) for fitted, trial in folds]
    pulled, reports = list[Pulled](), list[StepReport]()
    if folds and before:
        pulled, after, reports = pull_levers(graph, list(zip(after, trials, strict=True)), options, before)
    if folds and levers:
        left = [lever for lever in levers if all(lever.name != one.lever.name for one in pulled)]
        shaken = list(zip(after, map(shaken_trial, trials), strict=True))
        more, after, further = pull_levers(graph, shaken, options, left)
        pulled, reports = [*pulled, *more], [*(report for report in reports if report.taken), *further]
    if whole is None:
        return [after[0].calibration if pulled else usual.calibration], reports
    if not pulled and not (folds and levers):
        return [usual.calibration], reports
    end = reduce(lambda found, lever: lever(graph, found, options.progress), pulled, whole())
    return [one.calibration for one in (end, *after)], reports


def pull_levers(
    graph: Graph, folds: Folds, options: QuantizeOptions, levers: Sequence[Lever] = LEVERS
) -> tuple[list[Pulled], list[Fitted], list[StepReport]]:
    """The levers that stay, what they make of each fold, and what each of all was worth."""
    trials = [trial for _, trial in folds]
    taken, reports = list[Pulled](), list[StepReport]()
    current = [fitted for fitted, _ in folds]
    known = tried(current, trials)
    for lever in levers:
        offers = [lever.pull(graph, one, options.progress) for one in current] if lever.wanted(options) else []
        before, most, stays = scored(known), -inf, None
        for way, makes in enumerate(zip(*offers, strict=True)):
            one = [makes[0]()]
            found = tried(one, trials[:1])
            if not scored(known[:1]).surpasses(scored(found)):
                one += [make() for make in makes[1:]]
                found += tried(one[1:], trials[1:])
                most = max(most, scored(found).ratio)
                if better(scored(found), scored(known), AHEAD):
                    current, known, stays = one, found, way
        if stays is not None:
            taken.append(Pulled(lever, stays))
        if any(offers):
            reports.append(StepReport(lever.name, 1, int(stays is not None), before.ratio, max(most, before.ratio), scored(known).ratio))
    return taken, current, reports


def tried(way: Sequence[Fitted], trials: Sequence[Trial]) -> list[Tried]:
    return [trial(one.calibration) for one, trial in zip(way, trials, strict=True)]


def better(found: Score, known: Score, least: float) -> bool:
    """Whether what was found is better by so many standard errors, and by more where an output loses, or few samples make it."""
    doubt = found.doubt(known)
    least = max(least, PLAINLY) if (known.even < EVEN).any() else least
    return doubt < MOST_DOUBT and found.ratio >= known.ratio + LEAST and found.surpasses(known, least + DOUBT * doubt)
