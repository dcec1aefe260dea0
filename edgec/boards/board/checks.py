"""What `edgec devices` does: look at every board at once, and propose the entry of a new one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgec.base.errors import EdgecError, Problem, UsageError
from edgec.boards.board.entry import read_entry
from edgec.boards.board.fitness import misfits
from edgec.boards.board.look import Facts, gather, propose_target, read_state, remarks
from edgec.boards.connect.connectors import connect
from edgec.boards.device import Device
from edgec.records.results import State

AT_ONCE = 64  # boards
LITTLE_DISK = 64 * 2**20  # bytes; a package with its exam may need more than that
CLOCK_OFF = 60.0  # seconds
HOT = 80.0  # Celsius


@dataclass(frozen=True)
class Check:
    """What became of a look at a board. problems: why nothing can run there; remarks: what may spoil a measurement or a result."""

    device: Device
    reachable: bool
    facts: Facts | None
    state: State | None
    problems: tuple[Problem, ...]
    remarks: tuple[Problem, ...] = ()

    @property
    def verdict(self) -> str:
        """ok, unfit or unreachable."""
        return "unreachable" if not self.reachable else "unfit" if self.problems else "ok"


def check_devices(devices: Sequence[Device]) -> list[Check]:
    """Look at all of them at once, each within its own limits; a board that fails is a Check too."""
    with ThreadPoolExecutor(max_workers=max(1, min(AT_ONCE, len(devices)))) as pool:
        return list(pool.map(check_device, devices))


def check_device(device: Device) -> Check:
    """Connect, ask, judge, hang up."""
    try:
        connection = connect(device)
        try:
            facts, state = gather(connection), read_state(connection)
        finally:
            connection.close()
    except EdgecError as error:
        problem = Problem(error.summary, error.where or device.name, error.hint)
        return Check(device, False, None, None, (problem, *error.problems))
    return Check(device, True, facts, state, tuple(_problems(device, facts)), tuple(_remarks(device, facts, state)))


def _problems(device: Device, facts: Facts) -> list[Problem]:
    problems = misfits(facts, device)
    if facts.writable is False:
        problems.append(
            Problem(f"the work folder {device.work} cannot be written", device.name, "set `work` to a folder that you may write")
        )
    if facts.disk_free_bytes is not None and facts.disk_free_bytes < LITTLE_DISK:
        free = f"{facts.disk_free_bytes / 2**20:.0f} MiB"
        problems.append(Problem(f"only {free} are free for the work folder", device.name, "free some space, or set `work` to another disk"))
    return problems


def _remarks(device: Device, facts: Facts, state: State) -> list[Problem]:
    found = remarks(facts, device, device.target)
    if state.governor and state.governor != "performance":
        hint = "for steady figures: echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
        found.append(Problem(f"the governor is {state.governor}", device.name, hint))
    if state.throttled:
        found.append(Problem(f"it slows down: {', '.join(state.throttled)}", device.name, "a better power supply, cooling, or a break"))
    if state.temperature_c is not None and state.temperature_c >= HOT:
        found.append(Problem(f"it is hot: {state.temperature_c:.0f} \N{DEGREE SIGN}C", device.name, "cool it, or wait"))
    if facts.clock_offset_s is not None and abs(facts.clock_offset_s) > CLOCK_OFF:
        found.append(Problem(f"its clock is {facts.clock_offset_s:+.0f} s off", device.name, "set up NTP there; edgec does not rely on it"))
    return found


def propose_device(address: str, *, name: str = "", connection: str = "ssh", **keys: Any) -> tuple[Device, Facts]:
    """Connect to a board that no inventory has, and the entry that it should get, with the target that fits it.

    keys: further keys of the entry (user, port, key, known_hosts), as one would write them there; those that are None are not. An address
    `user@host` is taken apart. UsageError for keys that cannot be used, DeviceError when the board is not reached.
    """
    user, _, host = address.rpartition("@") if connection == "ssh" else ("", "", address)
    entry = {"target": "host", "connection": connection, "address": host, "user": user or None, **{k: v for k, v in keys.items() if v}}
    if connection in ("local", "emulated"):
        name = name or address
        del entry["address"]
    entry = {key: value for key, value in entry.items() if value}
    device = _device(name or name_of(host), entry)
    line = connect(device)
    try:
        facts = gather(line)
    finally:
        line.close()
    return _device(device.name, {**entry, "target": propose_target(facts)}), facts


def _device(name: str, entry: dict[str, Any]) -> Device:
    device, problems = read_entry(name, entry, Path.cwd(), "add")
    if device is None:
        raise UsageError("such a board cannot be added", problems)
    return device


def name_of(address: str) -> str:
    """A name for the board at an address: the host without its domain; an IP address or serial number with '-' for what a name has not."""
    host = address if re.fullmatch(r"[0-9.]+", address) else address.split(".")[0]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", host).strip("-.")[:64] or "board"
