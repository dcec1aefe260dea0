"""What lies between products in float32, where 8 bits of it lose much and floats cost little.

Networks add to a stream again and again, or multiply what gates let through: each such step rounds the whole stream to 256 numbers, though
it has few numbers beside the products around it. Sums alone are tried, then what multiplies as well, then gates' own functions, as far as a
run takes DEARER at most, and the outputs gain what the time is due. That is asked first of all, of plain min-max, since what follows is
fitted to the codes that are left; and once more of what follows, since that may gain as much without. All steps are searched for them only
where the steps that were found without them PROMISE something, since a search takes as long as all before it. Where the outputs are poor
with all steps, as of models of states whose every product and sum is a step of a filter, a run may take FURTHER, for FAR more. Costs are
those of no target in particular, so that a model is the same on all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from edgec.ops.registry import Role
from edgec.quant.fits.dearer import TWICE
from edgec.quant.floats.durations import Durations
from edgec.quant.floats.ranking import Names
from edgec.quant.trials.scores import Score
from edgec.records.diagnosis import LOW_SQNR

SETS = ((Role.ADD,), (Role.ADD, Role.MUL), (Role.ADD, Role.MUL, Role.TABLE))
DEARER, FURTHER = 1.1, 1.5  # times as long as all in int8, as estimated
LEAST, ENOUGH = 3.0, 1.0  # dB that the outputs must gain, however little time it takes; enough where they are poor
FAR = 10.0  # dB that they must gain in more time than DEARER
PROMISE = 0.5  # of what is due must be gained where nothing else is decided anew for these floats, so that all steps are searched for them


@dataclass(frozen=True)
class Between:
    """The names of the nodes that stay in float, and how much longer a run is estimated to take: nothing, where there are none.

    before, after: what the outputs have without and with them.
    """

    nodes: tuple[str, ...] = ()
    longer: float = 0.0
    before: float = 0.0
    after: float = 0.0

    @property
    def remarks(self) -> tuple[str, ...]:
        """For whoever builds."""
        if not self.nodes:
            return ()
        what = f"{self.nodes[0]}{f' and {len(self.nodes) - 1} more' if len(self.nodes) > 1 else ''} between products in float32"
        gain = f"{self.after:.1f} dB instead of {self.before:.1f} for {self.longer:.1%} more time, as estimated"
        return (f"{what}: {gain}; --min-sqnr 0 leaves them in int8",)

    def promises(self, before: Score, after: Score) -> bool:
        """Whether what was found without them gains so much by them that it may pay to search for steps that suit them."""
        return pays(after, before, self.longer, PROMISE)

    def judged(self, before: Score, after: Score) -> Between:
        """The same where it pays; else none."""
        return replace(self, before=before.ratio, after=after.ratio) if pays(after, before, self.longer) else Between()


def choose_between(durations: Durations, score: Callable[[Names], Score], dearer: float = DEARER) -> Between:
    """The layers that may stay in float. score: with these in float; dearer: times as long as a run may take."""
    kept, whole = Names(), durations.latency(())
    best, time = score(kept), whole
    for found in dict.fromkeys(durations.needed(named(durations, roles)) for roles in SETS):
        longer = durations.latency(found)
        if not found or longer > dearer * whole or not durations.matrices(found):
            continue
        other = score(found)
        if pays(other, best, (longer - time) / whole):
            kept, best, time = found, other, longer
    nodes = tuple(layer.node.name for layer in durations.layers if layer.node.name in kept)
    return Between(nodes, time / whole - 1) if nodes else Between()


def pays(found: Score, before: Score, longer: float, part: float = 1.0) -> bool:
    """Whether the outputs gain what it is due that a run takes so much longer, or part of it, and more than their standard error."""
    least = FAR if longer > DEARER - 1 else ENOUGH if before.ratio < LOW_SQNR else LEAST
    due = least + TWICE * longer
    return found.ratio >= before.ratio + max(part * due, found.chance(before))


def named(durations: Durations, roles: tuple[Role, ...]) -> Names:
    """The layers that have such a role and a name of their own."""
    return frozenset(layer.node.name for layer in durations.layers if layer.role in roles and durations.is_named(layer.node.name))
