"""Which calls run on the GPU together, and where one must wait for another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgec.emit.gpu.memory import Place, places
from edgec.emit.gpu.tiles import number
from edgec.program.kernels import Window
from edgec.program.program import Pointer, Program, TemplateCall


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
        reads, writes = [where[name] for name in call.reads], _written(program, index, where)
        if _meet((*reads, *writes), written) or _meet(writes, read):
            found.append(index)
            read, written = [], []
        read += [place for place in reads if place.region != "weights"]
        written += writes
    return found


def _written(program: Program, index: int, where: Mapping[str, Place]) -> list[Place]:
    """What a call writes. A kernel that makes its part of every pixel of a concatenation leaves the others' parts alone."""
    call = program.calls[index]
    arguments = call.arguments if isinstance(call, TemplateCall) else None
    window, y = getattr(arguments, "window", None), getattr(arguments, "y", None)
    if not isinstance(window, Window) or not isinstance(y, Pointer) or call.call.writes != (y.buffer,):
        return [where[name] for name in call.call.writes]
    whole, element = where[y.buffer], program.buffers[y.buffer].dtype.bytes
    first, stride, width = (size * element for size in (number(y.offset), number(window.out_pixel_stride), _channels(arguments)))
    return [Place(whole.region, whole.offset + first, whole.bytes - first, stride, width)] if width < stride else [whole]


def _channels(arguments: object) -> int:
    """That a kernel writes of each pixel."""
    words = ("channels",) if hasattr(arguments, "channels") else ("groups", "out_channels")
    return math.prod(number(getattr(arguments, word)) for word in words)


def _meet(some: Sequence[Place], others: Sequence[Place]) -> bool:
    return any(one.overlaps(other) for one in some for other in others)
