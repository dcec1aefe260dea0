"""Running a package's exam program on this machine, directly or through the target's emulator."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from edgec.errors import DeviceError, Problem
from edgec.targets import Target


@dataclass(frozen=True)
class Finished:
    """What a program that ended left behind."""

    status: int
    output: bytes
    errors: str


def exam_program(package: Path, target: Target) -> list[str]:
    """The command that starts the exam of a compiled package; DeviceError when it was not compiled or cannot run here."""
    found = sorted((package / "build").glob("*_exam*")) if (package / "build").is_dir() else []
    programs = [path for path in found if path.suffix in ("", ".exe") and path.is_file()]
    if not programs:
        raise DeviceError("the package has no exam program", where=str(package), hint="build it without --no-compile, or run `make` in it")
    return [*target.emulator, str(programs[0].resolve())]


def run(command: Sequence[str], data: bytes = b"", seconds: float | None = None) -> Finished:
    """Run a command to its end; DeviceError when it cannot start or takes longer than `seconds`."""
    try:
        done = subprocess.run(list(command), input=data, capture_output=True, check=False, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise DeviceError(f"no answer within {seconds} s", where=command[0], hint="the program hangs, or needs a longer limit") from error
    except OSError as error:
        raise DeviceError(str(error), where=command[0], hint="is the emulator installed (Debian: qemu-user)?") from error
    return Finished(done.returncode, done.stdout, done.stderr.decode(errors="replace"))


class Session:
    """A program that answers each block of input with a block of output of known size, for as long as it is open."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        try:
            self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except OSError as error:
            raise DeviceError(str(error), where=command[0], hint="is the emulator installed (Debian: qemu-user)?") from error

    def exchange(self, data: bytes, answer_bytes: int) -> bytes:
        """Send `data` and read the answer; DeviceError with the program's own words when it ends instead."""
        assert self._process.stdin is not None and self._process.stdout is not None
        if self._process.stdin.closed:
            raise DeviceError("the package is not running any more", where=" ".join(self._command), hint="load it again")
        try:
            self._process.stdin.write(data)
            self._process.stdin.flush()
            answer = self._process.stdout.read(answer_bytes)
        except BrokenPipeError:
            answer = b""
        if len(answer) != answer_bytes:
            self._fail()
        return answer

    def _fail(self) -> None:
        self._process.kill()
        _, errors = self._process.communicate()
        problems = [Problem(line) for line in errors.decode(errors="replace").splitlines()[-5:]]
        raise DeviceError(f"the package ended with status {self._process.returncode}", problems, where=" ".join(self._command))

    def close(self) -> None:
        """End the program; safe to call twice."""
        assert self._process.stdin is not None
        if not self._process.stdin.closed:
            self._process.kill()
            self._process.communicate()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
