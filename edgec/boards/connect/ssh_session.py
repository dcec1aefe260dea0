"""One command on a board: started behind a shell that says when it began and how it ended, fed, listened to, and ended in time.

A cut line looks like a program that says nothing and ends; so nothing counts as an answer that lacks the marks of the shell, which hold
a random word. The shell text is constant: the command's words travel as its arguments.
"""

from __future__ import annotations

import re
import secrets
import selectors
import shlex
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from edgec.base.errors import DeviceError, Problem
from edgec.base.harmless import last_lines, printable
from edgec.boards.connect.connection import Answer
from edgec.boards.connect.ssh_line import TROUBLE, Line
from edgec.boards.connect.trouble import BoardTimeout, Flood

# $1: the random word. What follows is the command. The inner shell becomes the command, so its process number is the command's.
_SHELL = (
    "word=$1; shift; printf '%s\\n' \"$word\"; "
    'sh -c \'printf "%s starts %s\\n" "$0" "$$" >&2; exec "$@"\' "$word" "$@"; '
    'status=$?; printf \'\\n%s ends %s\\n\' "$word" "$status" >&2'
)
_KILL = 'kill -9 "-$1" 2>/dev/null || kill -9 "$1"'  # the group of processes, where the command leads one
GRACE = 2.0  # seconds for what comes after the end: the news that a program was killed, the last bytes of its output
KILLING = 5.0  # seconds for killing a program
TURN = 0.005  # seconds between two looks at a send window that is full
_PIECE = 2**16


class Session:
    """A command that runs on the board, and its words so far. keeper: the words before it that end it there in time."""

    def __init__(self, line: Line, command: Sequence[str], keeper: Sequence[str] = (), opening: float | None = None) -> None:
        self._line, self._command, self._word = line, printable(" ".join(command))[:100], secrets.token_hex(16)
        self._output, self._errors = bytearray(), bytearray()
        word = self._word.encode()
        self._marks = {
            "starts": re.compile(word + rb" starts ([2-9]|[1-9]\d{1,8})\n"),
            "ends": re.compile(rb"\n" + word + rb" ends (\d{1,3})\n"),
        }
        self._found: dict[str, re.Match[bytes]] = {}
        self._begun = False  # whether the first line of the output, the shell's, has come
        self._ended_at = 0.0
        self._channel = line.session(opening or line.device.limits.connect)
        text = shlex.join(["sh", "-c", _SHELL, "sh", self._word, *keeper, *command])
        try:
            with line.watch(opening or line.device.limits.command):
                self._channel.exec_command(text)
        except TROUBLE as error:
            raise (self._wrong("the board's sshd refuses to start commands") if line.answers() else line.lost(error)) from error
        self._channel.setblocking(False)
        self._poll = selectors.DefaultSelector()
        self._poll.register(self._channel.fileno(), selectors.EVENT_READ)

    def run(self, data: bytes, seconds: float) -> Answer:
        """To its end. BoardTimeout when it takes longer (and then some grace for the news of it); then it has been killed."""
        begun = time.monotonic()
        try:
            self._pump(data, self._is_over, seconds, self._line.device.limits.output, GRACE)
        except KeyboardInterrupt:
            self.kill()
            raise
        finally:
            self.close()
        assert self.status is not None
        return Answer(self.status, bytes(self._output), self._said(), time.monotonic() - begun)

    def take(self, data: bytes, size: int, seconds: float) -> bytes:
        """Send `data`, and the next `size` bytes that the program says; DeviceError with its last words when it ends first."""

        def enough() -> bool:
            begun = self._begun and "starts" in self._found  # which comes on another way than the output, and tells what can be killed
            return (begun and len(self._output) >= size) or self._is_over()

        self._pump(data, enough, seconds, size + self._line.device.limits.output)
        if len(self._output) < size:
            raise self._wrong(f"the program ended with status {self.status} instead of an answer", "see its last words")
        answer = bytes(self._output[:size])
        del self._output[:size]
        return answer

    @property
    def status(self) -> int | None:
        """The command's exit status; none while it runs."""
        return int(self._found["ends"][1]) & 255 if "ends" in self._found else None

    def kill(self) -> bool:
        """End the command on the board; whether the board took the order."""
        words = ["sh", "-c", _KILL, "sh", self._found["starts"][1].decode()] if "starts" in self._found else ["true"]
        try:
            Session(self._line, words, opening=KILLING).run(b"", KILLING)
        except DeviceError:
            return False
        finally:
            self.close()
        return True

    def close(self) -> None:
        """Stop listening; the command finds its input at its end and its output closed. A line that is cut then shows at its next use."""
        self._poll.close()
        with self._line.watch(KILLING), suppress(*TROUBLE):
            self._channel.close()

    def _pump(self, data: bytes, enough: Callable[[], bool], seconds: float, most: int, grace: float | None = None) -> None:
        """Move bytes both ways until it is enough, for `seconds`. grace: seconds more, for a command whose input ends with `data`."""
        left, until, is_open = memoryview(data), time.monotonic() + seconds + (grace or 0), grace is not None
        try:
            while not self._hear(most, enough):
                wait = until - time.monotonic()
                if wait <= 0:
                    raise self._overdue(seconds)
                if (left and self._channel.send_ready()) or (not left and is_open):
                    is_open = is_open and bool(left)
                    left = self._feed(left)
                else:
                    self._poll.select(min(wait, TURN if left or self.status is not None else wait, 1.0))
        except TROUBLE as error:
            if not self._line.stands:
                raise self._line.lost(error) from error
            if not self._hear(most, enough):  # a program that ended takes no more input, which is its right
                self._pump(b"", enough, max(0.0, until - time.monotonic()), most)

    def _feed(self, left: memoryview) -> memoryview:
        """Send a piece, or the end; what is left then. A cut line can block even this."""
        with self._line.watch(self._line.device.limits.transfer):
            if left:
                return left[self._channel.send(bytes(left[:_PIECE])) :]
            self._channel.shutdown_write()
            return left

    def _hear(self, most: int, enough: Callable[[], bool]) -> bool:
        """Take in all that has come; whether it is enough. DeviceError for a flood, or an end without the shell's mark."""
        gone = self._channel.closed or self._channel.eof_received or not self._line.stands  # asked before the last bytes are read
        while (ready := self._channel.recv_ready()) or self._channel.recv_stderr_ready():
            if ready:
                self._output += self._channel.recv(_PIECE)
            else:
                self._errors += self._channel.recv_stderr(_PIECE)
            self._find_marks()
            if len(self._output) + len(self._errors) > most + _PIECE // 16:
                self.kill()
                flood = self._wrong(f"the board answers with more than {most} bytes", "it was stopped; is this the right program?")
                raise Flood(flood.summary, flood.problems, where=flood.where, hint=flood.hint)
        if enough():
            return True
        if gone and "ends" not in self._found:
            if not self._line.answers():
                raise self._line.lost("it ended in the middle of a command")
            raise self._wrong("the session ended before its command did", "was its sshd or its shell killed? Is there a POSIX shell?")
        return False

    def _find_marks(self) -> bool:
        if not self._begun:
            _, mark, rest = bytes(self._output).partition(self._word.encode() + b"\n")
            if mark:  # what a start-up file of the board's shell printed before it is dropped
                self._output, self._begun = bytearray(rest), True
        for name, mark_of in self._marks.items():
            found = None if name in self._found else mark_of.search(self._errors, max(0, len(self._errors) - _PIECE - 100))
            if found:
                self._found[name] = found
                self._ended_at = time.monotonic()
        return "ends" in self._found

    def _is_over(self) -> bool:
        """Ended, and its last bytes are here: all of them, or what came soon after, when a child of its keeps the output open."""
        if not self._begun or self.status is None:
            return False
        return bool(self._channel.eof_received or self._channel.closed) or time.monotonic() > self._ended_at + GRACE

    def _said(self) -> bytes:
        """What the command itself said on its standard error."""
        first = self._found["starts"].end() if "starts" in self._found else 0
        return bytes(self._errors[first : self._found["ends"].start() if "ends" in self._found else None])

    def _overdue(self, seconds: float) -> DeviceError:
        if not self.kill():
            return self._line.lost(f"no answer to `{self._command}` within {seconds:g} s, nor to anything else")
        hint = "it was killed there; it hangs, the board is too slow, or it needs a longer limit in the inventory"
        return BoardTimeout(f"`{self._command}` takes longer than {seconds:g} s", where=self._line.device.name, hint=hint)

    def _wrong(self, what: str, hint: str = "see the log of its sshd") -> DeviceError:
        problems = [Problem(line) for line in last_lines(self._said())]
        return DeviceError(f"{what} (`{self._command}`)", problems, where=self._line.device.name, hint=hint)


class Conversation:
    """An Exchange with a program on the board."""

    def __init__(self, session: Session, board: str, seconds: float) -> None:
        self._session: Session | None = session
        self._board, self._seconds = board, seconds

    def exchange(self, data: bytes, answer_bytes: int) -> bytes:
        if self._session is None:
            raise DeviceError("the program is not running any more", where=self._board, hint="start it again")
        try:
            return self._session.take(data, answer_bytes, self._seconds)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        session, self._session = self._session, None
        if session is not None and session.status is None:
            session.kill()
        elif session is not None:
            session.close()
