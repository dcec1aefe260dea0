"""Which calls run on the GPU together, and where one must wait for another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgec.emit.gpu.memory import Place, places
from edgec.program.program import Program


@dataclass(frozen=True)
class Schedule:
    """segments: (first call, call after the last) of each run of calls on the GPU; barriers: calls before which the GPU must wait
    for all earlier ones of their segment."""

    segments: tuple[tuple[int, int], ...]
    barriers: frozenset[int]


def schedule(program: Program, reasons: Sequence[str]) -> Schedule:
    """reasons: for each call "" when it runs on the GPU, else why it does not."""
    segments: list[tuple[int, int]] = []
    for index, reason in enumerate(reasons):
        if reason:
            continue
        if segments and segments[-1][1] == index:
            segments[-1] = (segments[-1][0], index + 1)
        else:
            segments.append((index, index + 1))
    return Schedule(tuple(segments), frozenset(barrier for segment in segments for barrier in _barriers(program, *segment)))


def _barriers(program: Program, first: int, end: int) -> list[int]:
    """Calls that read or overwrite what an earlier call since the last barrier wrote, or overwrite what one read."""
    where = places(program)
    found: list[int] = []
    read: list[Place] = []
    written: list[Place] = []
    for index in range(first, end):
        call = program.calls[index].call
        reads, writes = [where[name] for name in call.reads], [where[name] for name in call.writes]
        if _meet((*reads, *writes), written) or _meet(writes, read):
            found.append(index)
            read, written = [], []
        read += [place for place in reads if place.region != "weights"]
        written += writes
    return found


def _meet(some: Sequence[Place], others: Sequence[Place]) -> bool:
    return any(one.overlaps(other) for one in some for other in others)
