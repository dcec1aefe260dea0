"""This machine as a board, directly or through an emulator; and a package's exam program, run here."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from edgec.devices import files
from edgec.devices.connect import program_words
from edgec.devices.connection import Answer, Sent
from edgec.devices.device import Device
from edgec.devices.errors import BoardTimeout
from edgec.devices.process import Child
from edgec.errors import DeviceError, Problem
from edgec.targets import Target
from edgec.text import last_lines, printable

NOT_FOUND, NOT_EXECUTABLE = 127, 126  # a shell's words for a command that cannot start
_UNLIMITED = 1 << 62
_LAST_WORDS = 1 << 16
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Finished:
    """What a program that ended left behind."""

    status: int
    output: bytes
    errors: str


def exam_program(package: Path, target: Target) -> list[str]:
    """The command that starts the exam of a compiled package; DeviceError when it was not compiled or cannot run here."""
    found = sorted((package / "build").glob("*_exam*")) if (package / "build").is_dir() else []
    programs = [path for path in found if path.suffix in ("", ".exe", ".mjs") and path.is_file()]
    if not programs:
        raise DeviceError("the package has no exam program", where=str(package), hint="build it without --no-compile, or run `make` in it")
    return [*target.emulator, str(programs[0].resolve())]


def run(command: Sequence[str], data: bytes = b"", seconds: float | None = None) -> Finished:
    """Run a command to its end; DeviceError when it cannot start or takes longer than `seconds`."""
    try:
        answer = run_to_end(command, where=command[0], seconds=seconds, data=data)
    except OSError as error:
        raise DeviceError(str(error), where=command[0], hint="is the emulator installed (Debian: qemu-user)?") from error
    return Finished(answer.status, answer.output, answer.errors.decode(errors="replace"))


def run_to_end(
    command: Sequence[str],
    *,
    where: str,
    seconds: float | None = None,
    data: bytes = b"",
    most: int = _UNLIMITED,
    folder: Path | None = None,
) -> Answer:
    """Run a command here, with everything that it starts. BoardTimeout after `seconds`; DeviceError beyond `most` bytes; OSError when it
    cannot start. `where` names the board in errors."""
    return finish(Child(command, folder=folder, most=most), where=where, words=" ".join(command), seconds=seconds, data=data, most=most)


def finish(child: Child, *, where: str, words: str, seconds: float | None, data: bytes, most: int) -> Answer:
    """The end of run_to_end for a program that was started; it is not running any more afterwards. words: its name in errors."""
    start = time.monotonic()
    words = printable(words, 200)
    try:
        child.send(data)
        child.end_input()
        if child.settle(None if seconds is None else start + seconds):
            assert child.status is not None
            return Answer(child.status, child.output.rest(), child.errors.rest(), time.monotonic() - start)
        if child.flooding:
            raise DeviceError(f"answered more than {most} bytes", [Problem(words)], where=where, hint="the program floods its output")
        problems = [Problem(words), *map(Problem, last_lines(child.errors.rest()))]
        raise BoardTimeout(f"no answer within {seconds:g} s", problems, where=where, hint="the program hangs, or needs a longer limit")
    finally:
        child.kill()


class Session:
    """A program that answers each block of input with a block of output of known size, for as long as it is open.

    program: one that was started (with last=True), or a command. seconds: for one answer. where: names it, or the board, in errors.
    """

    def __init__(
        self, program: Child | Sequence[str], *, where: str = "", seconds: float | None = None, folder: Path | None = None
    ) -> None:
        self._seconds = seconds
        self._open = True
        if isinstance(program, Child):
            self._child, self._where = program, where
            return
        self._where = where or " ".join(program)
        try:
            self._child = Child(program, folder=folder, most=_LAST_WORDS, last=True)
        except OSError as error:
            raise DeviceError(str(error), where=where or program[0], hint="is the emulator installed (Debian: qemu-user)?") from error

    def exchange(self, data: bytes, answer_bytes: int) -> bytes:
        """Send `data` and read the answer; DeviceError with the program's own words when it ends or falls silent instead."""
        if not self._open:
            raise DeviceError("the package is not running any more", where=self._where, hint="load it again")
        deadline = None if self._seconds is None else time.monotonic() + self._seconds
        self._child.send(data)
        answer = self._child.output.take(answer_bytes, deadline)
        if len(answer) != answer_bytes:
            self._fail(len(answer), answer_bytes)
        return answer

    def _fail(self, came: int, wanted: int) -> None:
        """Raise what ended the program, in its own words."""
        ended = self._child.output.ended and self._child.settle(time.monotonic() + 2)
        try:
            status, errors = self._ending() if ended else (None, self._child.errors.rest())
        finally:
            self.close()
        words = [Problem(line) for line in last_lines(errors, 5)]
        if not ended:
            what = f"{came} of {wanted} bytes came within {self._seconds:g} s" if self._seconds else f"{came} of {wanted} bytes came"
            raise BoardTimeout(what, words, where=self._where, hint="the program hangs, or needs a longer limit")
        raise DeviceError(f"the package ended with status {status}", words, where=self._where)

    def _ending(self) -> tuple[int | None, bytes]:
        """The status of the program that ended and what it said on its error stream."""
        return self._child.status, self._child.errors.rest()

    def close(self) -> None:
        """End the program; safe to call twice."""
        self._open = False
        self._child.kill()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


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
            raise DeviceError(f"there is no program {emulator}", where=device.name, hint="install it (emulators, Debian: qemu-user)")

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
            self._try(path, lambda: files.continue_file(place, data, mode, sent))
        else:
            self._try(path, lambda: files.write_file(place, data, mode, sent))

    def read(self, path: str) -> bytes | None:
        most = self.device.limits.output
        data = self._try(path, lambda: files.read_file(self._place(path), most))
        if data is not None and len(data) > most:
            raise DeviceError(f"{path} has more than {most} bytes", where=self.device.name, hint="this is not a file that edgec wrote")
        return data

    def make_folder(self, path: str) -> None:
        self._try(path, lambda: self._place(path).mkdir(parents=True, exist_ok=True))

    def move(self, old: str, new: str) -> None:
        self._try(f"{old} -> {new}", lambda: files.move(self._place(old), self._place(new)))

    def remove(self, path: str) -> None:
        place = self._place(path)
        if Path(os.path.abspath(place)) in (self._home, *self._home.parents):
            raise DeviceError(f"refuses to remove {path!r}", where=self.device.name, hint="give a folder below the home folder")
        self._try(path, lambda: files.remove(place))

    def sizes(self, path: str) -> dict[str, int]:
        return self._try(path, lambda: files.sizes(self._place(path)))

    def create(self, path: str, data: bytes) -> bool:
        return self._try(path, lambda: files.create(self._place(path), data))

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
            raise DeviceError(f"{path}: {files.reason(error)}", where=self.device.name, hint=files.hint(error)) from error
