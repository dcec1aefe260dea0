"""The steps beyond plain min-max, each kept only where it makes the network's outputs better on samples that it was not fitted to.

A step can be taken in some places and left in others: streams of channels, values, layers. It is tried everywhere, and from the better
of everywhere and nowhere on, group by group of neighbouring places, the other way. Plain min-max, where no step is taken anywhere, is
where the search begins, and nothing is accepted that is worse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from edgec.quant.options import QuantizeOptions
from edgec.quant.report import StepReport

Choice = Mapping[str, frozenset[str]]  # the places where each step is taken
PLAIN: Choice = {}
SPLIT, EQUALIZE, OBSERVE = "channel splitting", "equalization", "observer"
BOUNDED, TIGHT = "equalization through Clip", "equalization through Clip by typical numbers"
SCALE, ROUND, CORRECT = "weight scales", "rounding", "bias correction"

# in order, since each is fitted to what those before it left; and the option that asks for it
STEPS: dict[str, Callable[[QuantizeOptions], bool]] = {
    SPLIT: lambda options: options.equalize,
    EQUALIZE: lambda options: options.equalize,
    BOUNDED: lambda options: options.equalize,
    TIGHT: lambda options: options.equalize,
    OBSERVE: lambda options: options.observer != "minmax",
    SCALE: lambda options: options.round_weights,
    ROUND: lambda options: options.round_weights,
    CORRECT: lambda options: options.correct_bias,
}
GROUPS = 6  # of places that are tried apart
WORTH = 0.05  # dB: gains below are as likely chance, and do not count


def places(choice: Choice, step: str) -> frozenset[str]:
    return choice.get(step, frozenset())


def upto(choice: Choice, last: str) -> tuple[frozenset[str], ...]:
    """What is chosen of the steps up to `last`."""
    names = list(STEPS)
    return tuple(places(choice, step) for step in names[: names.index(last) + 1])


@dataclass(frozen=True)
class Score:
    """SQNR in dB, more is better: of the values that stand for the outputs, which decides on each step, and of the outputs themselves."""

    judged: float
    outputs: float


def search(
    candidates: Callable[[str, Choice], Sequence[str]], score: Callable[[Choice], Score], options: QuantizeOptions
) -> tuple[Choice, list[StepReport]]:
    """The best choice found, and what each step was worth.

    candidates: where a step can be taken, given the steps before it, in the order of the graph. In the end the steps are undone, the
    last first, until the outputs themselves are no worse than with plain min-max.
    """
    found = [(PLAIN, score(PLAIN))]
    reports = []
    for step, wanted in STEPS.items():
        choice, best = found[-1]
        if wanted(options) and (offered := candidates(step, choice)):
            chosen, after, everywhere = take(step, offered, choice, best, score)
            found.append((chosen, after))
            reports.append(StepReport(step, len(offered), len(places(chosen, step)), best.judged, everywhere.judged, after.judged))
    plain = found[0][1].outputs
    last = max(number for number, (_, one) in enumerate(found) if one.outputs >= plain)
    undone = [replace(report, taken=0, after=found[last][1].judged) for report in reports[last:]]
    return found[last][0], [*reports[:last], *undone]


def take(step: str, offered: Sequence[str], choice: Choice, best: Score, score: Callable[[Choice], Score]) -> tuple[Choice, Score, Score]:
    """The choice with `step` where it helps, its score, and the score of the step taken everywhere."""
    whole = {**choice, step: frozenset(offered)}
    everywhere = score(whole)
    if everywhere.judged > best.judged + WORTH:
        choice, best = whole, everywhere
    size = -(-len(offered) // GROUPS)
    groups = [offered[begin : begin + size] for begin in range(0, len(offered), size)]
    for group in groups if len(groups) > 1 else []:
        other = {**choice, step: places(choice, step) ^ frozenset(group)}
        found = score(other)
        if found.judged > best.judged + WORTH:
            choice, best = other, found
    return choice, best, everywhere
