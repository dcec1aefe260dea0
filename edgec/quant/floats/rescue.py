"""A few layers in float32, or with 16 bits, where INT8 alone would hardly be the model and they cost little.

A square root, a logarithm or a gate in 8 bits may ruin the answers of a network whose products all are good in them. Where the outputs are
poor, what is cheap is tried: ASKED groups of layers that edgec/quant/floats/forecast.py puts first, each by itself. Where so much is lost,
errors do not add up as they are foretold, so what each gains is measured, and those that gain most go together, MOST layers, where the
outputs gain what they cost. Where they are poor still more may be spent for more, since an answer that is nothing like the model's is of no
use in any time. Costs are those of no target in particular, so that a model is the same on all of them.
Whoever gives a goal, such as one of 0 dB, decides by that alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from edgec.ir.graph import Graph
from edgec.quant.decisions.apply import apply
from edgec.quant.decisions.calibration import Calibration
from edgec.quant.decisions.twins import Twins
from edgec.quant.decisions.without import without
from edgec.quant.floats.between import DEARER
from edgec.quant.floats.forecast import Forecast
from edgec.quant.floats.jury import Jury
from edgec.quant.floats.ranking import Names
from edgec.quant.floats.reach import explained, lighter
from edgec.quant.floats.tries import Tries
from edgec.quant.floats.widen import widened
from edgec.quant.given.goal import Accuracy, Goal, Kept
from edgec.quant.given.options import Progress
from edgec.quant.trials.shares import JUDGES
from edgec.records.diagnosis import LOW_SQNR, Diagnosis

MOST = 8  # layers
ASKED, HEARD = 24, 8  # groups of them, each by so many samples
PRICES = (DEARER, 3.0), (1.3, 10.0)  # times as long as a run may take, and dB that they gain together
SHORT = 0.5  # dB less that fewer of them may reach
GOOD = 25.0  # dB that are enough
NAMED = 3  # layers that a remark tells


@dataclass(frozen=True)
class Rescue:
    """before, after: the outputs without and with the layers that are `kept`. dearer: how many times as long a run is, as estimated."""

    before: Accuracy
    after: Accuracy
    kept: tuple[Kept, ...]
    dearer: float

    @property
    def remark(self) -> str:
        """In a line for whoever builds."""
        told = [f"{kept.node} {'reads 16 bits' if kept.type == 'int16' else 'stays in float32'}" for kept in self.kept[:NAMED]]
        more = [f"{len(self.kept) - NAMED} more layers likewise"] if len(self.kept) > NAMED else []
        gain = f"{self.after.sqnr:.1f} dB instead of {self.before.sqnr:.1f} for {self.dearer - 1:.1%} more time, as estimated"
        return f"{', '.join([*told, *more])}: {gain}; --min-sqnr 0 leaves them in int8"


def rescue(
    graph: Graph,
    calibration: Calibration,
    jury: Callable[[int], Jury],
    examined: Callable[[], tuple[Twins, Diagnosis]],
    progress: Progress | None,
) -> tuple[Calibration, Rescue | None]:
    """The calibration with what is kept; as it is, and None, where the outputs are not poor or nothing gains what it costs.

    jury: of so many samples; examined: the network as the calibration makes it, and what it loses where.
    """
    whole = jury(JUDGES)
    before = whole(apply(graph, calibration))
    if not before.sqnr < LOW_SQNR:  # nor where it is no number
        return calibration, None
    forecast = Forecast(*examined())
    tries, few = (Tries(graph, calibration, judge, forecast, progress) for judge in (whole, jury(HEARD)))
    tries.known(Names(), before)
    kept = Names()
    for dearer, worth in PRICES:
        best = max(grown(forecast, few, dearer), key=lambda kept: tries(kept).sqnr, default=kept)
        kept = best if tries(best).sqnr >= tries(kept).sqnr + worth else kept
        if tries(kept).sqnr >= LOW_SQNR:
            break
    if not kept:
        return calibration, None
    most = tries(kept).sqnr
    goal = Goal(min_sqnr=min(most - SHORT, GOOD))
    found, wide = widened(lighter(kept, goal, tries, forecast), goal, tries, forecast)
    told = tuple(explained(name, found, wide, tries, forecast) for name in tries.ordered(found | wide))
    dearer = forecast.latency(found, wide) / forecast.latency(())
    return without(graph, calibration, tries.ordered(found), tries.ordered(wide)), Rescue(before, tries(found, wide), told, dearer)


def grown(forecast: Forecast, tries: Tries, dearer: float) -> list[Names]:
    """Growing sets of layers with which a run takes at most `dearer` times as long, those first that gain most by themselves."""

    def cheap(kept: Names) -> bool:
        return len(kept) <= MOST and forecast.matrices(kept) > 0 and forecast.latency(kept) <= dearer * forecast.latency(())

    groups = [kept for kept in dict.fromkeys(map(forecast.needed, forecast.groups())) if kept and cheap(kept)]
    asked = sorted(groups, key=lambda kept: (-forecast.gone(kept), forecast.latency(kept)))[:ASKED]
    before = tries(Names()).sqnr
    gains = {kept: tries(kept).sqnr - before for kept in asked}
    found = [Names()]
    for kept in sorted((kept for kept in asked if gains[kept] > 0), key=lambda kept: -gains[kept]):
        found += [found[-1] | kept] if cheap(found[-1] | kept) and not kept <= found[-1] else []
    return found[1:]
