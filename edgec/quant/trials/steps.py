"""The steps beyond plain min-max, judged by what the network's outputs gain on samples that they were not fitted to.

A step can be taken in some places and left in others: streams of channels, values, layers. It is tried everywhere, and from the better
of everywhere and nowhere on, group by group of neighbouring places, the other way. Few samples judge, so each difference is held against
what chance makes of it: a step that theory speaks for stays unless it is measurably worse, and a group goes its own way only where that is
measurably better. Equalization narrows what each channel may reach, so that a sample unlike the others is cut where min-max would not
cut it, and no sample that judges says so: it must be better beyond doubt, and is else taken halfway, which keeps most of what it gains.
What a function of sums is worth shows where the channels behind it are equalized, so these come with it, and first: a value that is split
is no such sum. Of what is left a function may still be worth its time when all else is decided.
Bias correction comes early: without it luck with the mean error hides what the steps behind it are worth.
Plain min-max, where no step is taken anywhere, is where the search begins. Where the end is worse, it goes back to the best on the way.
The effort says which steps are tried: those that make no pass of their own over the samples, or all; what high effort adds begins where
these end, see edgec/quant/search/levers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from edgec.quant.given.options import QuantizeOptions
from edgec.quant.trials.scores import WORSE, Score, certainty

Choice = Mapping[str, frozenset[str]]  # the places where each step is taken
PLAIN: Choice = {}
JOIN = "factors and terms as one layer"
SHAPE, MORE, BEHIND = "functions of sums, channels equalized", "functions of sums", "equalization behind functions"
FEATURES = "equalization of features"
SPLIT, EQUALIZE, MILD, OBSERVE = "channel splitting", "equalization", "mild equalization", "observer"
BOUNDED, TIGHT = "equalization through Clip", "equalization through Clip by typical numbers"
SCALE, ROUND, CORRECT = "weight scales", "rounding", "bias correction"

# in order, since each is fitted to what those before it left; and the option that asks for it
STEPS: dict[str, Callable[[QuantizeOptions], bool]] = {
    JOIN: lambda options: options.equalize,
    SHAPE: lambda options: options.shape_sums,
    BEHIND: lambda options: options.equalize,
    SPLIT: lambda options: options.equalize,
    CORRECT: lambda options: options.correct_bias,
    FEATURES: lambda options: options.equalize,
    EQUALIZE: lambda options: options.equalize,
    MILD: lambda options: options.equalize,
    OBSERVE: lambda options: options.observer != "minmax",
    BOUNDED: lambda options: options.equalize,
    TIGHT: lambda options: options.equalize,
    SCALE: lambda options: options.round_weights,
    ROUND: lambda options: options.round_weights,
    MORE: lambda options: options.shape_sums,
}
CHEAP = frozenset({JOIN, CORRECT, FEATURES, BEHIND, EQUALIZE, MILD})  # no pass over all samples is made for them
EFFORT: dict[str, frozenset[str]] = {"fast": CHEAP, "normal": frozenset(STEPS), "high": frozenset(STEPS)}
SOUND = frozenset({JOIN, CORRECT, FEATURES, MILD, ROUND})  # less error follows from what is known before anything is measured
DOUBTED = frozenset({SHAPE, BEHIND, EQUALIZE})  # BETTER than chance, or not everywhere
CUTTING = frozenset({OBSERVE, BOUNDED, TIGHT})  # other data may go where no sample that judges went
WHOLE = frozenset({CORRECT, BOUNDED, TIGHT})  # taken everywhere or nowhere
GROUPS = 4  # of places that are tried apart
RISK = 0.5  # dB that what cuts must gain
DEARER = frozenset({SPLIT, SHAPE, MORE, FEATURES})  # make every run longer: a group must gain what its time is due, or is left out
BETTER = 3.0  # times the standard error: more than WORSE for groups, of which one in many always seems to gain something


@dataclass(frozen=True)
class StepReport:
    """One step beyond plain min-max: SQNR of the outputs of a usual sample in dB, on samples that it was not fitted to.

    before: without it; everywhere: with it in all its places; after: with it in the `taken` ones of them.
    taken: in how many places it is in the end, none where the search went back to before it; the figures stay as they were found.
    """

    step: str
    places: int
    taken: int
    before: float
    everywhere: float
    after: float


def places(choice: Choice, step: str) -> frozenset[str]:
    return choice.get(step, frozenset())


def chosen(choice: Choice, *steps: str) -> tuple[frozenset[str], ...]:
    """What of these steps is chosen."""
    return tuple(places(choice, step) for step in steps)


def risk(step: str, choice: Choice) -> float:
    """dB that a step must gain for what other data may do, wherever it is chosen."""
    return RISK if step in CUTTING else 0.0


def search(
    candidates: Callable[[str, Choice], Sequence[str]],
    score: Callable[[Choice], Score],
    options: QuantizeOptions,
    due: Callable[[str, Choice], float] = risk,
) -> tuple[Choice, list[StepReport]]:
    """The best choice found, and what each step was worth.

    candidates: where a step can be taken, given the steps before it, in the order of the graph; due: dB that a step must gain where it is
    chosen.
    """
    plain = best = score(PLAIN)
    choice, reports = PLAIN, []
    ways = [(PLAIN, plain)]
    for step, wanted in STEPS.items():
        if step in EFFORT[options.effort] and wanted(options) and (offered := candidates(step, choice)):
            before = best
            choice, best, everywhere = take(step, offered, choice, best, score, due, 1 if options.effort == "fast" else GROUPS)
            ways.append((choice, best))
            reports.append(StepReport(step, len(offered), len(places(choice, step)), before.ratio, everywhere.ratio, best.ratio))
    if best.ratio < plain.ratio:
        choice = max(ways, key=lambda way: way[1].ratio)[0]
        reports = [replace(report, taken=len(places(choice, report.step))) for report in reports]
    return choice, reports


def take(
    step: str,
    offered: Sequence[str],
    choice: Choice,
    best: Score,
    score: Callable[[Choice], Score],
    due: Callable[[str, Choice], float],
    parts: int = GROUPS,
) -> tuple[Choice, Score, Score]:
    """The choice with `step` where it helps, its score, and the score of the step taken everywhere.

    `parts` groups are tried apart where the whole makes a measurable difference.
    """
    whole = {**choice, step: frozenset(offered)}
    everywhere = score(whole)
    chance, whole_due = WORSE * everywhere.chance(best), due(step, whole)
    apart = step not in WHOLE and abs(everywhere.ratio - best.ratio) > chance
    certain = step not in DOUBTED or certainty(best.shares - everywhere.shares) >= BETTER
    if certain and everywhere.ratio > best.ratio + (-chance if step in SOUND - DEARER else whole_due):
        choice, best = whole, everywhere
    size = -(-len(offered) // parts)
    groups = [frozenset(offered[begin : begin + size]) for begin in range(0, len(offered), size)]
    for group in groups if len(groups) > 1 and apart else []:
        taken = places(choice, step)
        other = {**choice, step: taken ^ group}
        found = score(other)
        gain = due(step, {**choice, step: group})
        chance = 0.0 if step in DEARER else BETTER * found.chance(best)
        needed = chance + (gain if not group <= taken else -gain if step in DEARER else 0.0)
        if found.ratio > best.ratio + needed:
            choice, best = other, found
    return choice, best, everywhere
