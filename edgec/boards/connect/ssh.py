"""Boards over SSH, as the user's own ssh would reach them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import ceil

from edgec.base.errors import DeviceError, Problem
from edgec.base.harmless import last_lines, printable
from edgec.boards.connect.connection import Answer, Exchange, Sent
from edgec.boards.connect.ssh_files import Files
from edgec.boards.connect.ssh_line import Line
from edgec.boards.connect.ssh_session import Conversation, Session
from edgec.boards.connect.sync import sync_by_command
from edgec.boards.connect.trouble import BoardTimeout
from edgec.boards.device import Device

_INSIDE = 'cd -- "$1" && mkdir -p -- "$2"'
LONGEST = 86400  # seconds after which a conversation ends on the board, should nobody come to end it
# What ends a program on the board when its time is over, even with nobody on the line; and what lets all its processes be killed as one.
_KEEPERS = (("timeout", "-s", "KILL", "{seconds}"), ("setsid",))


class SshConnection:
    """An open line to a board over SSH. It never asks for a password and never takes a host key that the user did not."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._line = Line(device)
        self._files = Files(self._line, self.execute)
        self._keeper: tuple[str, ...] | None = None

    def execute(self, command: Sequence[str], *, seconds: float | None = None, data: bytes = b"") -> Answer:
        limit = ceil(self.device.limits.command if seconds is None else seconds)
        begun = time.monotonic()  # before the board's own clock starts
        answer = self._session(command, limit).run(data, limit)
        if answer.status == 137 and time.monotonic() - begun >= limit:
            said = printable(" ".join(command))[:100]
            hint = "it was killed there; it hangs, the board is too slow, or it needs a longer limit in the inventory"
            raise BoardTimeout(f"`{said}` takes longer than {limit} s", where=self.device.name, hint=hint)
        return answer

    def converse(self, command: Sequence[str]) -> Exchange:
        return Conversation(self._session(command, LONGEST), self.device.name, self.device.limits.run)

    def write(self, path: str, data: bytes, *, mode: int = 0o644, sent: Sent | None = None, resume: bool = False) -> None:
        self._files.write(path, data, mode, sent, resume)

    def read(self, path: str) -> bytes | None:
        return self._files.read(path)

    def make_folder(self, path: str, *, inside: str = "") -> None:
        words = ["sh", "-c", _INSIDE, "sh", inside, path] if inside else ["mkdir", "-p", "--", path]
        self._must("make the folder", path, words)

    def move(self, old: str, new: str) -> None:
        self._files.move(old, new)

    def sync(self, paths: Sequence[str]) -> None:
        sync_by_command(self._patiently, paths, self.device.name)

    def remove(self, path: str) -> None:
        self._must("remove", path, ["rm", "-rf", "--", path])

    def sizes(self, path: str) -> dict[str, int]:
        return self._files.sizes(path)

    def close(self) -> None:
        self._line.close()

    def _session(self, command: Sequence[str], limit: int) -> Session:
        if self._keeper is None:
            self._keeper = next((words for words in _KEEPERS if self._has(words)), ())
        return Session(self._line, command, [word.format(seconds=limit) for word in self._keeper])

    def _has(self, keeper: Sequence[str]) -> bool:
        words = [*(word.format(seconds=9) for word in keeper), "true"]
        return Session(self._line, words).run(b"", self.device.limits.command).status == 0

    def _must(self, what: str, path: str, command: Sequence[str]) -> None:
        """Run a command that changes files; DeviceError with its words when it fails."""
        if not path.strip("/."):
            raise DeviceError(f"will not {what} {path!r}", where=self.device.name, hint="give a folder below the home folder")
        answer = self._patiently(["env", "LC_ALL=C", *command])
        if answer.status:
            problems = [Problem(line) for line in last_lines(answer.errors, 3)]
            hint = "is the disk full or read-only? Else change `work` in the inventory to a folder that can be written"
            raise DeviceError(f"cannot {what} {printable(path)}", problems, where=self.device.name, hint=hint)

    def _patiently(self, command: list[str]) -> Answer:
        """Run a command whose time depends on the disk."""
        return self.execute(command, seconds=max(self.device.limits.command, self.device.limits.transfer))
