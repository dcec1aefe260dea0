"""A program on this machine that cannot block us: threads keep its pipes moving, and its whole process group ends with it."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Condition, Thread
from typing import IO

from edgec.base.environment import child_environment

CHUNK = 1 << 16
_BUSY_TRIES = 20


def remaining(deadline: float | None) -> float | None:
    """Seconds until a deadline of time.monotonic(), never negative; None when there is none."""
    return None if deadline is None else max(0.0, deadline - time.monotonic())


class Inbox:
    """What a thread reads from one pipe. When `most` bytes wait, the program waits too, or the oldest go if only the `last` count."""

    def __init__(self, stream: IO[bytes], change: Condition, most: int, *, last: bool = False) -> None:
        self._stream, self._change, self._most, self._last = stream, change, most, last
        self._waiting = bytearray()
        self.ended = self.abandoned = False
        Thread(target=self._fill, daemon=True).start()

    @property
    def full(self) -> bool:
        return len(self._waiting) > self._most

    def _fill(self) -> None:
        with self._stream, suppress(OSError, ValueError):
            while not self.abandoned and (chunk := os.read(self._stream.fileno(), CHUNK)):
                with self._change:
                    self._waiting += chunk
                    if self._last:
                        del self._waiting[: -self._most]
                    self._change.notify_all()
                    self._change.wait_for(lambda: not self.full or self.abandoned)
        with self._change:
            self.ended = True
            self._change.notify_all()

    def take(self, count: int, deadline: float | None = None) -> bytes:
        """The next `count` bytes; fewer when the pipe ends or the deadline passes before."""
        found = bytearray()
        with self._change:
            while len(found) < count:
                self._change.wait_for(lambda: self._waiting or self.ended, remaining(deadline))
                if not self._waiting:
                    break
                part = self._waiting[: count - len(found)]
                del self._waiting[: len(part)]
                found += part
                self._change.notify_all()
        return bytes(found)

    def rest(self) -> bytes:
        """All that waits now."""
        with self._change:
            found = bytes(self._waiting)
            self._waiting.clear()
            self._change.notify_all()
        return found

    def abandon(self) -> None:
        """Read no more."""
        with self._change:
            self.abandoned = True
            self._change.notify_all()


class Child:
    """A program that was started here, in a process group of its own. OSError when it cannot start.

    most: bytes of output that may wait for us. last: of its errors only the last `most` bytes count, so that they never stop it.
    """

    def __init__(self, command: Sequence[str], *, folder: Path | None = None, most: int = CHUNK, last: bool = False) -> None:
        self._change = Condition()
        self._process = _start(command, folder)
        stdin, stdout, stderr = self._process.stdin, self._process.stdout, self._process.stderr
        assert stdin is not None and stdout is not None and stderr is not None
        self.output = Inbox(stdout, self._change, most)
        self.errors = Inbox(stderr, self._change, most, last=last)
        self.status: int | None = None
        self._ended = False
        self._outbox: SimpleQueue[bytes | None] = SimpleQueue()
        Thread(target=self._feed, args=(stdin,), daemon=True).start()
        Thread(target=self._await_end, daemon=True).start()

    def send(self, data: bytes) -> None:
        """Give the program input; a thread writes it."""
        self._outbox.put(data)

    def end_input(self) -> None:
        """No more input will come."""
        self._outbox.put(None)

    def settle(self, deadline: float | None) -> bool:
        """Wait for the end of the program and of its pipes; False when the deadline passed or more output waits than is allowed."""
        with self._change:
            self._change.wait_for(lambda: self._settled or self.flooding, remaining(deadline))
            return self._settled and not self.flooding

    @property
    def flooding(self) -> bool:
        return self.output.full or self.errors.full

    @property
    def _settled(self) -> bool:
        return self._ended and self.output.ended and self.errors.ended

    def kill(self) -> None:
        """End the program and what it started, unread output and all; safe to call twice."""
        with self._change:
            if not self._ended:
                _kill_group(self._process)
            self._change.wait_for(lambda: self._ended, 10)
        self.end_input()
        self.output.abandon()
        self.errors.abandon()

    def _feed(self, stdin: IO[bytes]) -> None:
        with suppress(OSError, ValueError), stdin:
            while (data := self._outbox.get()) is not None:
                left = memoryview(data)
                while left:
                    left = left[os.write(stdin.fileno(), left[:CHUNK]) :]

    def _await_end(self) -> None:
        code = self._process.wait()
        with self._change:
            if os.name == "posix":
                _kill_group(self._process)  # what it left running would keep its pipes open
            self.status = 128 - code if code < 0 else code
            self._ended = True
            self._change.notify_all()


def _start(command: Sequence[str], folder: Path | None) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    for attempt in range(_BUSY_TRIES):
        try:
            return subprocess.Popen(
                list(command), env=child_environment(), stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0, cwd=folder,
                start_new_session=os.name == "posix",
            )  # fmt: skip
        except OSError as error:
            # another thread, between fork and exec, still holds the file open that we have just written
            if error.errno != errno.ETXTBSY or attempt == _BUSY_TRIES - 1:
                raise
            time.sleep(0.01 * attempt)
    raise AssertionError("unreachable")


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        command = ["taskkill", "/F", "/T", "/PID", str(process.pid)]
        subprocess.run(command, env=child_environment(), capture_output=True, check=False)
    else:
        with suppress(ProcessLookupError, PermissionError):  # macOS denies it for a group of zombies
            os.killpg(process.pid, signal.SIGKILL)
