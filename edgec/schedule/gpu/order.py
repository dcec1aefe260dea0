"""Which calls run on the GPU together, and where one must wait for another."""

from __future__ import annotations

from collections.abc import Sequence

from edgec.program.halves import NO_HALVES, Halves
from edgec.program.offload import Order
from edgec.program.program import Program
from edgec.program.regions import places
from edgec.program.views import Views, views_of


def order(program: Program, reasons: Sequence[str], halves: Halves = NO_HALVES) -> Order:
    """reasons: for each call "" when it runs on the GPU, else why it does not. halves: what devices with 16-bit storage store as such."""
    segments: list[tuple[int, int]] = []
    for index, reason in enumerate(reasons):
        if reason:
            continue
        if segments and segments[-1][1] == index:
            segments[-1] = (segments[-1][0], index + 1)
        else:
            segments.append((index, index + 1))
    barriers = frozenset(barrier for segment in segments for barrier in _barriers(program, halves, *segment))
    return Order(tuple(segments), barriers)


def _barriers(program: Program, halves: Halves, first: int, end: int) -> list[int]:
    """Calls whose views (program.views) hold what an earlier call since the last barrier writes, or write what one reads.

    Views and not bytes: drivers and validation layers know no more of a shader, and calls that write other bytes of the same view
    would wait for each other on most devices anyway.
    """
    where = places(program, halves)
    found: list[int] = []
    earlier: list[tuple[Views, ...]] = []
    for index in range(first, end):
        views = views_of(program, index, where, halves)
        if any(one.must_follow(other) for others in earlier for one, other in zip(views, others, strict=True)):
            found.append(index)
            earlier = []
        earlier.append(views)
    return found
