"""Which calls of a Program run in turns, and what of its memory must outlive a turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgec.program.program import Kind, Program


@dataclass(frozen=True)
class Span:
    """Calls [first, end); the one before them begins the first turn."""

    first: int
    end: int

    def __contains__(self, index: int) -> bool:
        return self.first <= index < self.end


def spans(program: Program) -> dict[str, Span]:
    """Of everything that runs in turns; spans lie in each other or apart."""
    found: dict[str, Span] = {}
    for index, call in enumerate(program.calls):
        for name in call.call.within:
            found[name] = Span(found[name].first if name in found else index, index + 1)
    return found


def lives(program: Program, uses: Mapping[str, list[int]]) -> dict[str, tuple[int, int]]:
    """By memory the first and the last call that need what is in it, of those that use it, in order.

    What is used in turns and elsewhere too, which is all that is not the arena's, is read again or kept in each of them: it lives
    through all turns.
    """
    found = {}
    between = spans(program).values()
    for name, indices in uses.items():
        first, last = indices[0], indices[-1]
        for span in between:
            inside = sum(index in span for index in indices)
            if inside and (inside < len(indices) or program.buffers[name].kind is not Kind.ARENA):
                first, last = min(first, span.first), max(last, span.end - 1)
        found[name] = first, last
    return found


def carried(program: Program) -> set[str]:
    """The memory, by its root, that some turn reads before it writes it: what the turn before left there."""
    found = set[str]()
    for span in spans(program).values():
        calls = [call.call for call in program.calls[span.first : span.end]]
        written = {program.root(name) for call in calls for name in call.writes}
        fresh = set[str]()
        for call in calls:
            found |= {root for name in call.reads if (root := program.root(name)) in written and root not in fresh}
            fresh |= {program.root(name) for name in call.writes}
    return found
