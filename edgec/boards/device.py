"""What an inventory says of one board: frozen facts, no behaviour."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

KINDS = ("local", "ssh", "adb", "emulated")


@dataclass(frozen=True)
class Limits:
    """Seconds (and bytes) after which edgec stops waiting for a board."""

    connect: float = 10.0  # until the connection stands
    command: float = 30.0  # a probe, a checksum, a small file
    transfer: float = 60.0  # without a single byte moving
    run: float = 300.0  # one start of the exam program
    lock: float = 600.0  # a lock whose owner gave no sign of life for this long is stale
    wait: float = 0.0  # how long to wait for a board that somebody else uses
    output: int = 16 * 2**20  # bytes a command may answer


@dataclass(frozen=True)
class Device:
    """One board. `prefix` is a command put before every program that is started there, such as an emulator.

    connection: `local` (this machine), `emulated` (this machine, through `prefix` or the target's emulator), `ssh`, `adb`.
    address: a host name, an alias of ~/.ssh/config or, for adb, a serial number. work: a folder on the board, relative to the home
    folder there. cores: those that a measurement is pinned to; none leaves it to the board's scheduler.
    """

    name: str
    target: str
    connection: str
    address: str = ""
    user: str = ""
    port: int = 0
    key: Path | None = None
    known_hosts: Path | None = None
    tags: tuple[str, ...] = ()
    cores: tuple[int, ...] = ()
    prefix: tuple[str, ...] = ()
    work: str = ".cache/edgec"
    limits: Limits = field(default_factory=Limits)
