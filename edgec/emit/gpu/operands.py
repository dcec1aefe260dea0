"""Where a kernel's operands lie, and how its workgroups fill a dispatch."""

from __future__ import annotations

from dataclasses import dataclass

from edgec.kernels.gpu.geometry import number
from edgec.kernels.gpu.limits import MOST_GROUPS, Extent
from edgec.program.halves import NO_HALVES, Halves
from edgec.program.program import Kind, Pointer, Program
from edgec.program.regions import REGIONS, io_offsets


@dataclass(frozen=True)
class Address:
    """Byte `byte` of a region, where an operand starts, and the region's last word that holds any of the operand's buffer."""

    region: str
    byte: int
    last_word: int

    @property
    def is_half(self) -> bool:
        """Stored in 16 bits: `byte` is then what it would be in 32."""
        return self.region.endswith("_half")

    @property
    def word(self) -> int:
        assert self.byte % 4 == 0, f"{self.region} + {self.byte} is not the address of a word"
        return self.byte // 4


def address_of(program: Program, pointer: Pointer, halves: Halves = NO_HALVES) -> Address:
    """Where a pointer of a planned Program leads to; constants have their places in the weights blob by then.

    The regions of halves have addresses as if their elements were float32.
    """
    buffer = program.buffers[pointer.buffer]
    byte, end = number(pointer.offset) * buffer.dtype.bytes, buffer.max_bytes
    while buffer.parent is not None:
        shift = number(buffer.offset or 0) * buffer.dtype.bytes
        byte, end, buffer = byte + shift, end + shift, program.buffers[buffer.parent]
    start = io_offsets(program)[buffer.name] if buffer.kind in (Kind.INPUT, Kind.OUTPUT) else buffer.address
    assert start is not None, f"{buffer.name} has no address: plan the Program first"
    suffix = "_half" if pointer.buffer in halves.tensors or pointer.buffer in halves.weights else ""
    return Address(REGIONS[buffer.kind] + suffix, start + byte, (start + max(end, 1) - 1) // 4)


def spread(groups: int) -> tuple[Extent, int]:
    """A grid of at least `groups` workgroups that no dimension's limit forbids, and how many it has: group_x() + group_y() * grid[0]."""
    rows = -(-groups // MOST_GROUPS)
    width = -(-groups // rows)
    return (width, rows, 1), width * rows
