"""The part of each region that a shader sees: Vulkan binds buffers by ranges, and drivers order shaders by them.

A shader reads the arena through one view and writes it through another; the weights and the caller's tensors (io) it sees through one each.
A view is the hull of all bytes that the call uses that way, from a multiple of 256 on: no device wants more of a start. It has no bytes in
a region that the shader does not use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from edgec.program.expr import Load
from edgec.program.halves import NO_HALVES, Halves
from edgec.program.program import LoopCall, Program
from edgec.program.regions import Place
from edgec.program.walk import roots, walk

ALIGNMENT = 256
_WORD = 4


@dataclass(frozen=True)
class Views:
    """In the order of the prelude's bindings. in_place: bytes of the arena are both read and written."""

    arena_read: Place
    arena_written: Place
    weights: Place
    io: Place
    writes_io: bool
    in_place: bool

    @property
    def bindings(self) -> tuple[Place, ...]:
        return self.arena_read, self.arena_written, self.weights, self.io

    def must_follow(self, earlier: Views) -> bool:
        """Whether one of both writes where the other one reads or writes."""
        pairs = [
            (self.arena_read, earlier.arena_written),
            (self.arena_written, earlier.arena_read),
            (self.arena_written, earlier.arena_written),
        ]
        if self.writes_io or earlier.writes_io:
            pairs.append((self.io, earlier.io))
        return any(one.overlaps(other) for one, other in pairs)


def views_of(program: Program, index: int, where: Mapping[str, Place], halves: Halves = NO_HALVES) -> tuple[Views, ...]:
    """What the shader of call number `index` sees where all tensors are float32, and in a package with halves also where these are
    stored as such. where: the places with these halves."""
    item = program.calls[index]
    names = {*item.call.reads, *(_loaded(item) if isinstance(item, LoopCall) else ())}

    def seen(as_halves: bool) -> Views:
        read = [place for name in sorted(names) for place in _stored(name, where[name], halves, as_halves)]
        written = [place for name in item.call.writes for place in _stored(name, where[name], halves, as_halves)]
        both = [*read, *written]
        writes_io = any(place.region == "io" for place in written)
        in_place = any(one.region == "arena" and one.overlaps(other) for one in read for other in written)
        return Views(_hull("arena", read), _hull("arena", written), _hull("weights", read), _hull("io", both), writes_io, in_place)

    return (seen(False), seen(True)) if halves else (seen(False),)


def _stored(name: str, place: Place, halves: Halves, as_halves: bool) -> list[Place]:
    """Where the buffer's bytes are. Constants that are stored as halves are there as float32 too, for what shares them."""
    if as_halves and name in halves.weights:
        stored = halves.weights[name]
        return [place, Place("weights", halves.weights_start + stored.address // 2, stored.count * 2)]
    if place.region != "arena_half":
        return [place]
    if as_halves:
        return [Place("arena", halves.arena_start + place.offset // 2, -(-place.bytes // 2))]
    return [replace(place, region="arena")]


def _loaded(item: LoopCall) -> Iterable[str]:
    for expression in roots(item.body):
        yield from (part.buffer for part in walk(expression) if isinstance(part, Load))


def _hull(region: str, some: Iterable[Place]) -> Place:
    places = [place for place in some if place.region == region and place.bytes]
    if not places:
        return Place(region)
    start = min(place.offset for place in places) // ALIGNMENT * ALIGNMENT
    end = -(-max(place.offset + place.bytes for place in places) // _WORD) * _WORD
    return Place(region, start, end - start)
