"""Loops inside loops that threads share, as what changes them sees them."""

from __future__ import annotations

from edgec.program.program import AnyCall, For, LoopCall, Statement


def nest_of(call: AnyCall) -> tuple[list[For], tuple[Statement, ...]]:
    """The loops of a call from 0 on, outermost first, each all that the one around it does, and what the last one does; none of others.

    A loop in lanes is no such loop, and its total is something that the one around it does.
    """
    loops = list[For]()
    if not isinstance(call, LoopCall) or not call.parallel or call.outside is not None:
        return loops, ()
    body = call.body
    while len(body) == 1 and isinstance(body[0], For) and body[0].start is None and not body[0].lanes:
        loops.append(body[0])
        body = body[0].body
    return loops, body
