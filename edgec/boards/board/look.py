"""Asking a board what it is and how it is doing."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeVar
from weakref import WeakKeyDictionary

from edgec.boards.board import parsers, probes
from edgec.boards.board.board import Facts, facts_of, facts_of_python
from edgec.boards.board.fitness import instructions, propose_target, remarks, unfit
from edgec.boards.connect.connection import Connection
from edgec.records.results import State

T = TypeVar("T")
__all__ = ["Facts", "describe", "gather", "identify", "propose_target", "read_state", "remarks", "unfit"]


@dataclass(frozen=True)
class _Look:
    """What a board counted up to a look at it: reasons to slow down since its boot, and how often."""

    since_boot: int = 0
    counts: int = 0


_LOOKS: WeakKeyDictionary[Connection, _Look] = WeakKeyDictionary()  # the last look over each open line


def identify(connection: Connection) -> Facts:
    """What never changes while a board is up, in one round trip. DeviceError when it runs no shell script."""
    parts = probes.ask_facts(connection)
    return facts_of(parts) if parts else facts_of_python()


def gather(connection: Connection) -> Facts:
    """Everything that a board tells about itself, in two round trips. DeviceError when it runs no shell script."""
    parts = probes.ask_facts(connection)
    if not parts:
        return facts_of_python()
    before = time.time()
    state = probes.ask_state(connection)
    return with_clock(facts_of(parts), state, (before + time.time()) / 2)


def with_clock(facts: Facts, parts: Mapping[str, str], now: float) -> Facts:
    """`facts` with the board's uptime and clock, which `parts` of a state tell. now: our clock in the middle of that look."""
    seconds = parsers.whole(parts.get("clock", ""))
    offset = None if seconds is None else round(seconds + 0.5 - now, 1)
    return replace(facts, clock_offset_s=offset, uptime_s=parsers.uptime(parts.get("uptime", "")))


def read_state(connection: Connection) -> State:
    """How the board is doing now. Over one connection, reasons to slow down that came and went since the last call are told too.

    Governor and frequencies are those of the cores that the device is pinned to, where it is. DeviceError when it runs no shell script.
    """
    parts = probes.ask_state(connection)
    state, look = state_of(parts, connection.device.cores, _LOOKS.get(connection))
    _LOOKS[connection] = look
    return state


def state_of(parts: Mapping[str, str], cores: tuple[int, ...] = (), last: _Look | None = None) -> tuple[State, _Look]:
    """State from the parts of `probes.STATE`, and what to compare the next one with; never fails, whatever the board says."""
    said = {name: parts.get(name, "") for name in probes.STATE}
    bits = parsers.throttled(said["throttled"]) or 0
    look = _Look(bits >> 16 & 15, parsers.total(said["throttle_counts"]))
    reasons = parsers.throttle_reasons(bits | (look.since_boot & ~last.since_boot if last else 0))
    hot = (last is not None and look.counts > last.counts) or parsers.thermal_status(said["thermal_service"]) >= 2
    also = [("frequency capped", parsers.cooling(said["coolers"])), ("throttled", hot)]
    temperature = parsers.zone_temperature(said["zones"])
    state = State(
        governor=", ".join(sorted(set(_of_cores(parsers.per_core(said["governors"]), cores)))),
        frequency_khz=max(_of_cores(parsers.kilohertz(said["frequencies"]), cores), default=None),
        most_frequency_khz=max(_of_cores(parsers.kilohertz(said["most_frequencies"]), cores), default=None),
        temperature_c=parsers.firmware_temperature(said["temperature"]) if temperature is None else temperature,
        throttled=tuple(dict.fromkeys((*reasons, *(reason for reason, holds in also if holds)))),
        load=parsers.load(said["load"]),
    )
    return state, look


def _of_cores(values: Mapping[int, T], cores: tuple[int, ...]) -> list[T]:
    return [value for core, value in values.items() if core in cores or not cores]


def describe(facts: Facts) -> dict[str, str]:
    """Facts that tell one board from another, in words; what it does not tell is left out."""
    words = {
        "model": facts.model,
        "processor": facts.processor,
        "cores": str(facts.cores or ""),
        "frequency": f"{max(facts.most_frequencies_khz) / 1e6:.2f} GHz" if facts.most_frequencies_khz else "",
        "instructions": ", ".join(instructions(facts)),
        "memory": f"{facts.memory_bytes / 2**30:.1f} GiB" if facts.memory_bytes else "",
        "machine": f"{facts.machine} with 32-bit programs" if facts.bits == 32 and facts.machine.endswith("64") else facts.machine,
        "system": facts.system,
        "kernel": facts.kernel,
        "libc": facts.libc,
        "gpu": facts.gpu,
    }
    return {name: word for name, word in words.items() if word}
