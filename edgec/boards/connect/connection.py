"""What every kind of board can do for us. Connectors (local, ssh, adb) are the only code that touches a process or the network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from edgec.boards.device import Device
from edgec.package.running import Answer

__all__ = ["Answer", "Connection", "Exchange", "Sent"]

Sent = Callable[[int], None]  # told how many bytes of a file have been sent


class Exchange(Protocol):
    """A program on the board that answers each block of input with a block of output of known size, until it is closed."""

    def exchange(self, data: bytes, answer_bytes: int) -> bytes:
        """Send `data`, read `answer_bytes` bytes. DeviceError, with the program's last words, when it ends or falls silent."""

    def close(self) -> None:
        """End the program; safe to call twice."""


class Connection(Protocol):
    """An open line to one board. Every method ends within its time-out and raises DeviceError that names the board and the next step.

    Paths are absolute or relative to the home folder, with `/` between their parts. Commands are lists of words: a connector that
    needs a shell quotes them, and nobody builds shell text from what a model, an inventory or a board said.
    A program that is still running on the board when its time is over is killed there.
    """

    device: Device

    def execute(self, command: Sequence[str], *, seconds: float | None = None, data: bytes = b"") -> Answer:
        """Run a command to its end, without the device's prefix. Any status is an Answer; no answer in time (by default
        limits.command), a cut line or more than limits.output bytes is an error."""

    def converse(self, command: Sequence[str]) -> Exchange:
        """Start a command that takes questions on its standard input; each answer has limits.run seconds."""

    def write(self, path: str, data: bytes, *, mode: int = 0o644, sent: Sent | None = None, resume: bool = False) -> None:
        """Write a whole file, in an existing folder. resume: bytes that are there already are kept when they begin `data`.
        DeviceError when nothing moved for limits.transfer seconds, the disk is full or the folder is read-only."""

    def read(self, path: str) -> bytes | None:
        """The whole file, at most limits.output bytes; None when there is none."""

    def make_folder(self, path: str, *, inside: str = "") -> None:
        """The folder and its parents; content that exists stays. inside: a folder that must be there, which `path` is relative to."""

    def move(self, old: str, new: str) -> None:
        """Rename a file or folder on the same disk, at once; a file `new` is replaced (rename(2))."""

    def sync(self, paths: Sequence[str]) -> None:
        """What these files hold, and the names in these folders, survive a loss of power from now on (fsync(2))."""

    def remove(self, path: str) -> None:
        """Remove a file or a whole folder; none there is fine."""

    def sizes(self, path: str) -> dict[str, int]:
        """Bytes of every regular file below a folder, by path relative to it; {} when there is no folder."""

    def close(self) -> None:
        """Hang up; safe to call twice."""
