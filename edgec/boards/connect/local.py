"""This machine as a board, directly or through an emulator."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from edgec.base.errors import DeviceError
from edgec.boards.connect import local_files
from edgec.boards.connect.connection import Answer, Sent
from edgec.boards.connect.connectors import program_words
from edgec.boards.device import Device
from edgec.package.running import Session, run_to_end

NOT_FOUND, NOT_EXECUTABLE = 127, 126  # a shell's words for a command that cannot start
_Result = TypeVar("_Result")


class LocalConnection:
    """A Connection to this machine; relative paths start at the home folder."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._home = Path.home()
        self._sessions: list[Session] = []
        if not self._home.is_dir():
            raise DeviceError(f"there is no home folder {self._home}", where=device.name, hint="set HOME")
        emulator = program_words(device, "")[0]
        if emulator and shutil.which(emulator) is None:
            raise DeviceError(
                f"there is no program {emulator}", where=device.name, hint="install it (emulators, Debian: qemu-user, qemu-system-arm)"
            )

    def execute(self, command: Sequence[str], *, seconds: float | None = None, data: bytes = b"") -> Answer:
        limits = self.device.limits
        seconds = limits.command if seconds is None else seconds
        try:
            words = self._words(command)
            return run_to_end(words, where=self.device.name, seconds=seconds, data=data, most=limits.output, folder=self._home)
        except FileNotFoundError:
            return Answer(NOT_FOUND, b"", f"{command[0]}: not found\n".encode(), 0.0)
        except OSError as error:
            return Answer(NOT_EXECUTABLE, b"", f"{command[0]}: {error.strerror}\n".encode(), 0.0)

    def converse(self, command: Sequence[str]) -> Session:
        session = Session(self._words(command), where=self.device.name, seconds=self.device.limits.run, folder=self._home)
        self._sessions.append(session)
        return session

    def write(self, path: str, data: bytes, *, mode: int = 0o644, sent: Sent | None = None, resume: bool = False) -> None:
        place = self._place(path)
        if resume:
            self._try(path, lambda: local_files.continue_file(place, data, mode, sent))
        else:
            self._try(path, lambda: local_files.write_file(place, data, mode, sent))

    def read(self, path: str) -> bytes | None:
        most = self.device.limits.output
        data = self._try(path, lambda: local_files.read_file(self._place(path), most))
        if data is not None and len(data) > most:
            raise DeviceError(f"{path} has more than {most} bytes", where=self.device.name, hint="this is not a file that edgec wrote")
        return data

    def make_folder(self, path: str, *, inside: str = "") -> None:
        if inside:
            self._try(path, lambda: local_files.make_folder(self._place(inside), path))
        else:
            self._try(path, lambda: self._place(path).mkdir(parents=True, exist_ok=True))

    def move(self, old: str, new: str) -> None:
        self._try(f"{old} -> {new}", lambda: local_files.move(self._place(old), self._place(new)))

    def sync(self, paths: Sequence[str]) -> None:
        self._try(", ".join(paths), lambda: local_files.sync([self._place(path) for path in paths]))

    def remove(self, path: str) -> None:
        place = self._place(path)
        if Path(os.path.abspath(place)) in (self._home, *self._home.parents):
            raise DeviceError(f"refuses to remove {path!r}", where=self.device.name, hint="give a folder below the home folder")
        self._try(path, lambda: local_files.remove(place))

    def sizes(self, path: str) -> dict[str, int]:
        return self._try(path, lambda: local_files.sizes(self._place(path)))

    def close(self) -> None:
        while self._sessions:
            self._sessions.pop().close()

    def _place(self, path: str) -> Path:
        if not path or "\0" in path:
            raise DeviceError(f"{path!r} is not a path", where=self.device.name)
        return self._home / path

    def _words(self, command: Sequence[str]) -> list[str]:
        """The command, its program found from the home folder when it has a relative path."""
        program = command[0]
        return [str(self._home / program) if "/" in program else program, *command[1:]]

    def _try(self, path: str, action: Callable[[], _Result]) -> _Result:
        try:
            return action()
        except OSError as error:
            raise DeviceError(f"{path}: {local_files.reason(error)}", where=self.device.name, hint=local_files.hint(error)) from error
