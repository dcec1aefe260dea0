"""What lies between products in float32, where 8 bits of it lose much and floats cost little.

Networks add to a stream again and again, or multiply what gates let through: each such step rounds the whole stream to 256 numbers, though
it has few numbers beside the products around it. Sums alone are tried, then what multiplies as well, then gates' own functions, as far as a
run takes DEARER at most, and the outputs gain what the time is due. That is asked first of all, of plain min-max: what follows is fitted to
the codes that are left. Costs are those of no target in particular, so that a model is the same on all of them.
"""

from __future__ import annotations

from collections.abc import Callable

from edgec.ops.registry import Role
from edgec.quant.dearer import TWICE
from edgec.quant.ranking import Names
from edgec.quant.scores import Score
from edgec.quant.timing import Timing
from edgec.records.diagnosis import LOW_SQNR

SETS = ((Role.ADD,), (Role.ADD, Role.MUL), (Role.ADD, Role.MUL, Role.TABLE))
DEARER = 1.1  # times as long as all in int8, as estimated
LEAST, ENOUGH = 3.0, 1.0  # dB that the outputs must gain, however little time it takes; enough where they are poor


def choose_between(timing: Timing, score: Callable[[Names], Score]) -> Names:
    """The layers that stay in float. score: of plain min-max with these in float."""
    kept, whole = Names(), timing.latency(())
    best, time = score(kept), whole
    for found in dict.fromkeys(timing.needed(named(timing, roles)) for roles in SETS):
        longer = timing.latency(found)
        if not found or longer > DEARER * whole or not timing.matrices(found):
            continue
        other = score(found)
        least = ENOUGH if best.ratio < LOW_SQNR else LEAST
        due = max(least + TWICE * (longer - time) / whole, other.chance(best))
        if other.ratio >= best.ratio + due:
            kept, best, time = found, other, longer
    return kept


def named(timing: Timing, roles: tuple[Role, ...]) -> Names:
    """The layers that have such a role and a name of their own."""
    return frozenset(layer.node.name for layer in timing.layers if layer.role in roles and timing.is_named(layer))
