"""Keep in float32, or in 16 bits, what a goal needs, and nothing else.

All statistics, scales and rounded weights stay as the calibration has decided them, each for a layer by itself: so a try costs one run of
the quantized network over the samples that judge. Sets of layers grow in the orders of edgec/quant/floats/ranking.py until the goal holds;
then each layer that turns out not to be needed goes back to int8. The fewest are taken, and of as many those that take the least time.
Last, what codes of 16 bits are enough for, and cheaper, leaves float32: see edgec/quant/floats/widen.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import log10

from edgec.base.errors import GateError, Problem
from edgec.ir.graph import Graph
from edgec.quant.decisions.apply import apply
from edgec.quant.decisions.calibration import Calibration
from edgec.quant.decisions.twins import twins_of
from edgec.quant.decisions.without import without
from edgec.quant.findings.diagnose import BLAMED, examine
from edgec.quant.floats.forecast import Forecast
from edgec.quant.floats.jury import Jury
from edgec.quant.floats.ranking import PRICES, Names, lightest_first, ranked
from edgec.quant.floats.tries import Key, Tries
from edgec.quant.floats.widen import widened
from edgec.quant.given.goal import Accuracy, Attempt, Goal, GoalReport, Kept
from edgec.quant.given.options import Progress
from edgec.quant.scope.cost import Costs, saved_bytes
from edgec.quant.trials.shares import some
from edgec.records.diagnosis import Diagnosis

TOLD = 3  # layers that an error names


def reach(
    graph: Graph, calibration: Calibration, goal: Goal, jury: Jury, costs: Costs | None = None, progress: Progress | None = None
) -> tuple[Calibration, GoalReport]:
    """The calibration, with as many layers in float as the goal needs. GateError when it cannot be reached."""
    quantized = apply(graph, calibration)
    before = jury(quantized)
    report = GoalReport(goal, jury.count, jury.apart, before, before, (), (Attempt(0, before.sqnr, before.drop, 0.0, 1.0),))
    if goal.reached(before):
        return calibration, report
    twins = twins_of(graph, quantized, calibration)
    diagnosis = examine(twins, some(jury.samples, jury.count, BLAMED), progress)
    forecast = Forecast(twins, diagnosis, costs)
    tries = Tries(graph, calibration, jury, forecast, progress)
    tries.known(frozenset(), before)
    found = Names()
    for price in PRICES:
        sets = [kept for kept in ranked(forecast, price) if not found or len(forecast.needed(kept)) <= len(found)]
        place = search(sets, goal, tries, expected(sets, forecast, goal, before))
        if place is not None:
            other = lighter(sets[place], goal, tries, forecast)
            found = min((kept for kept in (found, other) if kept), key=lambda kept: (len(kept), forecast.latency(kept)))
    if not found:
        raise unreachable(goal, tries, forecast, diagnosis)
    found, wide = widened(found, goal, tries, forecast)
    told = [explained(name, found, wide, tries, forecast) for name in tries.ordered(found | wide)]
    calibration = without(graph, calibration, tries.ordered(found), tries.ordered(wide))
    return calibration, replace(report, after=tries(found, wide), kept=tuple(told), attempts=tries.attempts)


def expected(sets: list[Names], forecast: Forecast, goal: Goal, before: Accuracy) -> int:
    """The place of the first set that should be enough, as far as noise adds up."""
    if goal.min_sqnr is None or before.sqnr >= goal.min_sqnr:
        return 0
    ratios = (before.sqnr - 10 * log10(max(1 - forecast.gone(kept), 1e-9)) for kept in sets)
    return next((place for place, ratio in enumerate(ratios) if ratio >= goal.min_sqnr), len(sets) - 1)


def search(sets: Sequence[Names], goal: Goal, tries: Tries, guess: int) -> int | None:
    """The place of the first set that is enough."""
    return first(len(sets), lambda place: goal.reached(tries(sets[place])), guess)


def first(count: int, holds: Callable[[int], bool], guess: int) -> int | None:
    """The first place that holds, where all after it do too; None: not even the last one. Begins at `guess`, with growing strides."""
    low, high, place, stride = -1, count, guess, 1
    while high - low > 1:
        if holds(place):
            high = place
            place = max(high - stride, (low + high) // 2)
        else:
            low = place
            place = min(low + stride, count - 1) if high == count else (low + high) // 2
        stride *= 2
    return high if high < count else None


def lighter(kept: Names, goal: Goal, tries: Tries, forecast: Forecast) -> Names:
    """Without layers that are not needed, until none can go back to int8 alone."""
    kept = forecast.needed(kept)
    order = lightest_first(forecast, kept)
    sets = [kept - frozenset(order[:count]) for count in range(len(order), -1, -1)]  # from none to all of them
    several = search(sets, goal, tries, len(sets) // 2)
    kept = kept if several is None else sets[several]
    while True:
        before = kept
        for name in lightest_first(forecast, kept):
            if goal.reached(tries(kept - {name})):
                kept -= {name}
        if kept == before:
            return kept


def explained(name: str, kept: Names, wide: Names, tries: Tries, forecast: Forecast) -> Kept:
    """Why it stays, and what int8 would have saved."""
    layer = next(layer for layer in forecast.layers if layer.node.name == name)
    fewer, less = kept - {name}, wide - {name}
    back, whole = tries(fewer, less), kept | wide
    error = round(forecast.gone(whole) - forecast.gone(whole - {name}), 4)
    latency = round((forecast.latency(kept, wide) - forecast.latency(fewer, less)) / forecast.latency(()), 4)
    saved, kind = (0, "int16") if name in wide else (saved_bytes(forecast.graph, layer), "float32")
    return Kept(name, layer.node.op, error, back.sqnr, back.drop, round(forecast.macs(layer), 4), latency, saved, kind)


def unreachable(goal: Goal, tries: Tries, forecast: Forecast, diagnosis: Diagnosis) -> GateError:
    """The best that was found, the layers that cost most, and what to do."""
    score: Mapping[Key, tuple[float, float]] = {
        key: (-(found.drop or 0.0) if goal.max_drop is not None else 0.0, found.sqnr) for key, found in tries.found.items()
    }
    best = max(score, key=lambda key: score[key])
    found, kept = tries.found[best], tries.kept[best]
    share = f"{len(kept)} of {len(forecast.layers)} layers in float32, {forecast.float_macs(kept):.0%} of the multiply-accumulates"
    problems = [Problem(f"at best {found}, with {share}")]
    problems += [
        Problem(f"{layer.cost:.0%} of the outputs' error begins here", layer.node) for layer in diagnosis.ranked[:TOLD] if layer.cost
    ]
    hint = "ask for less, calibrate with more samples or others (--calib), or build with --precision fp32"
    return GateError(f"the goal cannot be reached with anything left in int8: {goal}", problems, hint=hint)
