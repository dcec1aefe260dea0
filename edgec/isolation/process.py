"""The worker process, as who wants something read sees it: a request goes in, messages come out, and it may die on the way.

One worker serves a program's requests one after the other. Where there is fork, each request is a fork of it, which dies with what it
took; elsewhere each request has a worker of its own. It is started by a plain command, so that threads here and the lack of a
`__main__` guard do no harm, and it hears no Ctrl-C but ends with who started it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from io import BufferedReader
from typing import Any

from edgec.base.environment import child_environment

# no isolated start may look for modules in the current folder; the worker finds what this program finds
PROGRAM = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from edgec.isolation.worker import main; main()"
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")  # who forks has no other threads
NEW_GROUP: int = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)  # what a new session is on Windows
LATE = 5  # seconds after which a worker that does not end by itself is ended

_busy = threading.Lock()
_idle: list[tuple[int, subprocess.Popen[bytes]]] = []  # the worker that waits, and the process that started it


def start() -> None:
    """Let a worker load its modules while this program does something else."""
    with _busy:
        if not _idle:
            _idle.append((os.getpid(), _started()))


def messages(request: Mapping[str, Any], seconds: float) -> Iterator[dict[str, Any]]:
    """What the worker answers; Died when it ends before its answer does. Nothing is left of it when the caller goes away."""
    from edgec.ir.archive import received  # loads numpy; `start` shall be quick

    process = _taken()
    late = threading.Event()
    timer = threading.Timer(seconds + LATE, _end_late, [process, late])
    timer.daemon = True
    timer.start()
    again = False
    try:
        assert process.stdin is not None and isinstance(process.stdout, BufferedReader)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
        for message in received(process.stdout):
            if message["kind"] == "end":
                again = message["again"]
                return
            yield message
        raise Died(process.wait(), late.is_set())
    finally:
        timer.cancel()
        _leave(process, again)


class Died(Exception):
    """The worker ended: with a code, or by a signal (negative, as subprocess says it)."""

    def __init__(self, code: int, late: bool) -> None:
        super().__init__(code)
        self.code, self.late = code, late


def _taken() -> subprocess.Popen[bytes]:
    """The worker that waits, unless it died or belongs to a process that this one was forked from."""
    with _busy:
        while _idle:
            owner, process = _idle.pop()
            if owner == os.getpid() and process.poll() is None:
                return process
    return _started()


def _leave(process: subprocess.Popen[bytes], again: bool) -> None:
    """Keep one worker that can serve again."""
    with _busy:
        if again and not _idle:
            _idle.append((os.getpid(), process))
            return
    _end(process)


def _started() -> subprocess.Popen[bytes]:
    paths = json.dumps([os.path.abspath(path) for path in sys.path])
    environment = child_environment() | ONE_THREAD
    return subprocess.Popen(
        [sys.executable, "-I", "-c", PROGRAM, paths], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        env=environment, start_new_session=True, creationflags=NEW_GROUP,
    )  # fmt: skip


def _end_late(process: subprocess.Popen[bytes], late: threading.Event) -> None:
    late.set()
    _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """The worker and its forks, which are a group."""
    with contextlib.suppress(OSError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
