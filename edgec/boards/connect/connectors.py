"""Opening a line to a board: one connector for each kind of connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from edgec.boards.connect.connection import Connection
from edgec.boards.device import Device
from edgec.targets import command_of, load_target

# connection -> module and class of its connector, imported when it is first needed
_CONNECTORS: Mapping[str, tuple[str, str]] = {
    "local": ("edgec.boards.connect.local", "LocalConnection"),
    "emulated": ("edgec.boards.connect.local", "LocalConnection"),
    "ssh": ("edgec.boards.connect.ssh", "SshConnection"),
    "adb": ("edgec.boards.connect.adb", "AdbConnection"),
}


def connect(device: Device) -> Connection:
    """An open connection; DeviceError, naming the board and the next step, when there is none within limits.connect."""
    module, name = _CONNECTORS[device.connection]
    opener: Callable[[Device], Connection] = getattr(import_module(module), name)
    return opener(device)


def program_words(device: Device, program: str, *arguments: str) -> list[str]:
    """The command that starts a program of a package on the board: behind its prefix, or behind the target's emulator."""
    prefix = device.prefix
    if not prefix and device.connection == "emulated":
        prefix = load_target(device.target).emulator
    return command_of(prefix, program, *arguments)
