"""Where buffers lie in the three regions that every shader sees: the arena, the weights, and the caller's tensors (io)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgec.program.expr import Const
from edgec.program.halves import NO_HALVES, Halves
from edgec.program.program import Kind, Program

ALIGNMENT = 64
REGIONS = {Kind.ARENA: "arena", Kind.CONSTANT: "weights", Kind.INPUT: "io", Kind.OUTPUT: "io"}


@dataclass(frozen=True)
class Place:
    """Bytes [offset, offset + bytes) of a region."""

    region: str
    offset: int = 0
    bytes: int = 0

    def overlaps(self, other: Place) -> bool:
        apart = self.offset >= other.offset + other.bytes or other.offset >= self.offset + self.bytes
        return self.region == other.region and not apart


def io_offsets(program: Program) -> dict[str, int]:
    """Where each input's and output's buffer starts in io, those of states too, and under "" how many bytes io has."""
    offsets, end = {}, 0
    for port in program.ports:
        if port.buffer not in offsets:
            offsets[port.buffer] = end
            end += -(-program.buffers[port.buffer].max_bytes // ALIGNMENT) * ALIGNMENT
    return {**offsets, "": max(end, ALIGNMENT)}


def places(program: Program, halves: Halves = NO_HALVES) -> Mapping[str, Place]:
    """The place of every buffer of a planned Program without symbolic sizes; views lie inside of their parents.

    What is stored as halves has the region arena_half, whose places are counted as if its elements were float32.
    """
    io = io_offsets(program)
    found: dict[str, Place] = {}

    def place(name: str) -> Place:
        if name in found:
            return found[name]
        buffer = program.buffers[name]
        if buffer.parent is not None:
            outer = place(buffer.parent)
            shift = int(buffer.offset.value) if isinstance(buffer.offset, Const) else 0
            found[name] = Place(outer.region, outer.offset + shift * buffer.dtype.bytes, buffer.max_bytes)
        else:
            start = io.get(name, buffer.address)
            assert start is not None, f"{name} has no address: plan the Program first"
            found[name] = Place("arena_half" if name in halves.tensors else REGIONS[buffer.kind], start, buffer.max_bytes)
        return found[name]

    for name in program.buffers:
        place(name)
    return found
