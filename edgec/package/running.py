"""Programs on this machine: run to their end, or kept open to answer; and where a package's exam program lies."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from edgec.base.errors import DeviceError, Problem
from edgec.base.harmless import last_lines, printable
from edgec.package.process import Child
from edgec.targets import Target, command_of

DAMAGED = "`edgec verify` says whether the package was changed since it was built; else build it again, on this machine"
SIGNALS = 128  # statuses beyond it name the signal that ended a program
_UNLIMITED = 1 << 62
_LAST_WORDS = 1 << 16


class BoardTimeout(DeviceError):
    """The board, or this machine, did not finish in time; what it ran has been killed, as far as it still listens."""


class Flood(DeviceError):
    """A program said more than anybody asked for, and has been killed."""


@dataclass(frozen=True)
class Answer:
    """What a command left behind. status: its exit status; 128 + N when signal N ended it.

    output and errors are what a board said, untrusted: they go through `harmless.printable` before anybody sees them.
    """

    status: int
    output: bytes
    errors: bytes
    seconds: float


@dataclass(frozen=True)
class Finished:
    """What a program that ended left behind."""

    status: int
    output: bytes
    errors: str


def exam_program(package: Path, target: Target, *arguments: str) -> list[str]:
    """The command that starts the exam of a compiled package with arguments; DeviceError when it was not compiled or cannot run here."""
    found = sorted((package / "build").glob("*_exam*")) if (package / "build").is_dir() else []
    programs = [path for path in found if path.suffix in ("", ".exe", ".mjs") and path.is_file()]
    if not programs:
        raise DeviceError("the package has no exam program", where=str(package), hint="build it without --no-compile, or run `make` in it")
    return command_of(target.emulator, str(programs[0].resolve()), *arguments)


def run(command: Sequence[str], data: bytes = b"", seconds: float | None = None) -> Finished:
    """Run a command to its end; DeviceError when it cannot start or takes longer than `seconds`."""
    try:
        answer = run_to_end(command, where=command[0], seconds=seconds, data=data)
    except OSError as error:
        raise _no_start(command, error, command[0]) from error
    return Finished(answer.status, answer.output, answer.errors.decode(errors="replace"))


def _no_start(command: Sequence[str], error: OSError, where: str) -> DeviceError:
    """Why a command could not be started: a missing program is the emulator, unless its path says that it was built."""
    missing = isinstance(error, FileNotFoundError) and not Path(command[0]).is_absolute()
    return DeviceError(
        str(error), where=where, hint="is the emulator installed (Debian: qemu-user, qemu-system-arm)?" if missing else DAMAGED
    )


def ending(status: int | None) -> str:
    """How a program ended, in words: `with status 3`, `by signal 11`."""
    return f"by signal {status - SIGNALS}" if status is not None and SIGNALS < status < SIGNALS + 65 else f"with status {status}"


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
            raise Flood(f"answered more than {most} bytes", [Problem(words)], where=where, hint="the program floods its output")
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
            raise _no_start(program, error, where or program[0]) from error

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
        raise DeviceError(f"the package ended {ending(status)}", words, where=self._where, hint=DAMAGED)

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
