"""Verbs that run other people's native code work in a process that may die, beside one that then says what happened and cleans up.

ONNX Runtime and numpy run inside of ours, and a model that makes one of them fail with a signal would end the program without a
word. The verb is therefore a fork of the program. It dies with the program, and whatever signal asks the program to end is passed on to it.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import shutil
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from edgec.base.signals import ENDING, heard

GUARDED = frozenset({"build", "quantize", "compare", "inspect", "bench", "tune"})
_FOLLOWING = {"SIGKILL": "the system ends programs so when memory runs out: use a machine with more, or fewer and smaller samples"}
_LENT = 1 << 16  # bytes of what a pipe holds that nobody empties


@dataclass(frozen=True)
class Death:
    """How the verb's process ended. following: the next step. lines: where its threads were, as far as it could say."""

    signal: str
    following: str
    lines: list[str]


def guard(words: Sequence[str]) -> int | Death | None:
    """None in the process that is to do the work; in the one beside it, later, the exit code, or the signal that ended the work."""
    if not hasattr(os, "fork") or not set(words[:1]) & GUARDED or threading.active_count() > 1:
        return None
    life, made, fault = os.pipe(), os.pipe(), os.pipe()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    child = os.fork()
    if child:
        for end in (life[0], made[1], fault[1]):
            os.close(end)
        return _wait(child, made[0], fault[0])
    for end in (life[1], made[0], fault[0]):
        os.close(end)
    os.set_blocking(made[1], False)
    os.set_blocking(fault[1], False)
    threading.Thread(target=_die_with, args=[life[0]], daemon=True).start()
    faulthandler.enable(fault[1])
    sys.addaudithook(lambda event, values: _note(event, values, made[1]))
    return None


def _die_with(life: int) -> None:
    """End this process when the other end of the pipe is closed, which its process's death does, too."""
    while os.read(life, 1):
        pass
    os.kill(os.getpid(), signal.SIGKILL)


def _note(event: str, values: Sequence[object], made: int) -> None:
    """Tell of each temporary file and folder; in one write, so that no thread's cuts another's in two."""
    if event in ("tempfile.mkdtemp", "tempfile.mkstemp"):
        with contextlib.suppress(OSError):
            os.write(made, os.fsencode(os.path.abspath(str(values[0]))) + b"\0")


def _wait(child: int, made: int, fault: int) -> int | Death:
    def pass_on(number: int, frame: FrameType | None) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    for number in heard():
        signal.signal(number, pass_on)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return code
    if -code in ENDING:  # before it could listen
        return 128 - code
    for path in _all(made).split(b"\0"):
        _remove(Path(os.fsdecode(path)))
    name = signal.Signals(-code).name
    return Death(name, _FOLLOWING.get(name, ""), _all(fault).decode(errors="replace").splitlines())


def _all(pipe: int) -> bytes:
    os.set_blocking(pipe, False)
    try:
        return os.read(pipe, _LENT)
    except BlockingIOError:
        return b""


def _remove(path: Path) -> None:
    """What was only for the time being; a package that was just about to be replaced is none of it."""
    if path.name and not (path / "package").exists():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
