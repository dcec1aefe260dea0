"""The planned arena is within 5 % of what must be alive at once, aligned and with scratch memory counted."""

from __future__ import annotations

import pytest

from edgec.program.program import Kind, Program
from edgec.targets import load_target
from tests.contract.subjects import FAMILIES, program_of, random_float_net, random_net

KINDS = {"int8": random_net, "float": random_float_net}
TARGETS = ("x86-64", "linux-arm64", "rpi-32bit")
LARGEST = 1.05


def blocks_alive(program: Program) -> list[int]:
    """For every call, the bytes of the arena that some buffer occupies from its first use to its last: counted from the addresses."""
    used: dict[str, list[int]] = {}
    for index, call in enumerate(program.calls):
        for name in (*call.call.reads, *call.call.writes):
            used.setdefault(name, []).append(index)
    ranges = []
    for name, calls in used.items():
        buffer = program.buffers[name]
        if buffer.kind is Kind.ARENA:
            assert buffer.address is not None
            ranges.append((buffer.address, buffer.address + buffer.max_bytes, min(calls), max(calls)))
    alive = []
    for index in range(len(program.calls)):
        covered = 0
        total = 0
        for start, end, first, last in sorted(ranges):
            if first <= index <= last:
                total += max(0, end - max(start, covered))
                covered = max(covered, end)
        alive.append(total)
    return alive


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_arena_is_hardly_larger_than_what_is_alive(family: str, kind: str, target: str) -> None:
    program = program_of(KINDS[kind](family), load_target(target))
    total = program.arena_bytes + program.scratch_bytes
    assert program.live_bound_bytes <= total <= LARGEST * program.live_bound_bytes


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_bound_is_no_exaggeration(family: str, kind: str) -> None:
    """It exceeds what really is alive only by alignment and slack."""
    program = program_of(KINDS[kind](family), load_target("x86-64"))
    real = max(blocks_alive(program)) + program.scratch_bytes
    assert real <= program.live_bound_bytes <= real + 64 * 12
