"""One user at a time: a lock file on the board, with an owner, a sign of life and a time-out of its own.

No clock of a calendar is used: ages come from the board's time since its boot, and a lock of another boot is dead. Where a board has no
/proc (macOS) that time is `date +%s` less `sysctl kern.boottime`, and a boot is another one when the time since it is shorter than the
lock's. Where there is not even that, on this machine alone, it is Python's monotonic clock.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace

from edgec.devices.connection import Connection
from edgec.errors import DeviceError, Problem
from edgec.text import printable

Tell = Callable[[str], None]

POLL = 1.0  # seconds between two looks at a board that is in use
_CLAIM_SECONDS = 60.0  # whoever takes a stale lock over has to be done by then
_CLAIMS = 100
_OWNER = 100  # characters
_UPTIME = ("cat", "/proc/uptime", "/proc/sys/kernel/random/boot_id")
_MOST_SECONDS = 1e10
_LEFT: set[str] = set()  # tokens of locks that this process could not release
_BOOT_TIME = re.compile(rb"sec = (\d+)")


class BoardBusy(DeviceError):
    """Somebody else uses the board."""


@dataclass(frozen=True)
class Moment:
    """A board's own time: seconds since its boot, and which boot that was ("" where it does not tell)."""

    boot: str
    uptime_s: float


@dataclass(frozen=True)
class Mark:
    """What a lock file says. uptime_s: the last sign of life; since_s: when the board was taken; limit_s: silence that ends the lock."""

    owner: str
    token: str
    boot: str
    uptime_s: float
    limit_s: float
    since_s: float
    renewals: int = 0  # each sign of life is another content of the file, however soon it comes

    def encode(self) -> bytes:
        return (json.dumps(asdict(self)) + "\n").encode()

    def age(self, now: Moment) -> float:
        """Seconds since the last sign of life, at a moment after it was read; infinite when the board was started anew in between."""
        same = self.boot == now.boot and now.uptime_s >= self.uptime_s
        return now.uptime_s - self.uptime_s if same else math.inf

    def is_stale(self, now: Moment) -> bool:
        return self.age(now) > self.limit_s


class Lock:
    """A board that is ours. Everybody else keeps off until it is released, or until limits.lock seconds after the last renewal."""

    def __init__(self, connection: Connection, mark: Mark) -> None:
        self._connection, self._mark, self._signed = connection, mark, time.monotonic()

    def renew(self) -> None:
        """Give a sign of life. DeviceError when the lock is not ours any more."""
        now = moment(self._connection)
        if not self._is_ours(now):
            hint = f"somebody took it over after {self._mark.limit_s:g} s of silence: raise limits.lock, and start again"
            raise DeviceError("the board's lock was lost", where=self._connection.device.name, hint=hint)
        renewed = replace(self._mark, boot=now.boot, uptime_s=now.uptime_s, renewals=self._mark.renewals + 1)
        aside = _aside(self._connection, self._mark)
        self._connection.write(aside, renewed.encode())
        self._connection.move(aside, _path(self._connection))
        self._mark, self._signed = renewed, time.monotonic()

    def release(self) -> None:
        """Free the board, if it is still ours."""
        with _leaving(self._mark):
            if self._is_ours():
                self._connection.remove(_path(self._connection))

    def _is_ours(self, now: Moment | None = None) -> bool:
        """Whether the lock file is still the one we wrote, and may be changed by us. When half of our time is over somebody may soon want
        to take it over; then only who wins the claim may touch it."""
        path = _path(self._connection)
        content = self._connection.read(path)
        found = _parse(content or b"")
        if content is None or found is None or found.token != self._mark.token:
            return False
        if time.monotonic() - self._signed <= self._mark.limit_s / 2:
            return True
        claimed = _claim(self._connection, content, now or moment(self._connection)) != ""
        return claimed and self._connection.read(path) == content


@contextmanager
def hold(connection: Connection, owner: str, tell: Tell | None = None) -> Iterator[Lock]:
    """Take the board, waiting up to limits.wait seconds; release it at the end, however that comes.

    BoardBusy names who has it, for how long, and the next step. A lock whose owner was silent for longer than it promised, or that
    is from before the board's last start, is taken over by exactly one of those who find it. What is no lock at all but lies in its
    place counts as one that began when the first edgec saw it. A failing release is told, never raised.
    """
    say = tell or (lambda text: None)
    lock = _take(connection, printable(owner, _OWNER), say)
    try:
        yield lock
    finally:
        try:
            lock.release()
        except DeviceError as error:
            say(f"the lock stays on the board for up to {connection.device.limits.lock:g} s: {error.summary}")


def forfeit(connection: Connection, is_gone: Callable[[str], bool]) -> bool:
    """Remove the lock when its owner is known to be gone, long before it is stale; False when it is not, or the board is free. An owner
    that is there after all learns of it at its next renewal."""
    path = _path(connection)
    content = connection.read(path)
    found = _parse(content) if content else None
    if found is None or not is_gone(found.owner):
        return False
    aside = f"{path}.{found.token}"
    with suppress(DeviceError):
        connection.move(path, aside)
    moved = connection.read(aside)
    connection.remove(aside)
    if moved is not None and moved != content:
        connection.create(path, moved)  # somebody took it over between two looks: put it back
        return False
    return True


def moment(connection: Connection) -> Moment:
    """What time the board has. DeviceError when it does not tell."""
    answer = connection.execute(_UPTIME)
    words = answer.output.split()
    if answer.status == 0 and len(words) == 3:
        with suppress(ValueError):
            return Moment(printable(words[2], 64), _finite(words[0]))
    boot, now = connection.execute(("sysctl", "-n", "kern.boottime")), connection.execute(("date", "+%s"))
    started = _BOOT_TIME.search(boot.output)
    if boot.status == now.status == 0 and started:
        with suppress(ValueError):
            return Moment("", _finite(now.output) - _finite(started[1]))
    if connection.device.connection in ("local", "emulated"):
        return Moment("", time.monotonic())
    hint = "edgec needs /proc/uptime there, or sysctl and date"
    raise DeviceError("the board does not tell how long it has been running", where=connection.device.name, hint=hint)


def _take(connection: Connection, owner: str, say: Tell) -> Lock:
    end = time.monotonic() + connection.device.limits.wait
    connection.make_folder(connection.device.work)
    told = ""
    while True:
        now = moment(connection)
        mine = Mark(owner, secrets.token_hex(16), now.boot, now.uptime_s, connection.device.limits.lock, now.uptime_s)
        with _leaving(mine):
            found = _try(connection, mine, now)
        if found is None:
            with suppress(DeviceError):  # it is only tidied, and the lock is ours to release
                _tidy(connection)
            return Lock(connection, mine)
        left = end - time.monotonic()
        if left <= 0:
            raise _busy(connection, found, moment(connection))
        if found.owner != told:
            told = found.owner
            say(f"waiting for {_who(found)}")
        time.sleep(min(POLL, left))


def _try(connection: Connection, mine: Mark, now: Moment) -> Mark | None:
    """One attempt: None when the board is ours now, else who has it."""
    path = _path(connection)
    if connection.create(path, mine.encode()):
        return None
    content = connection.read(path)
    if content is None:  # released this very moment: the next attempt will tell
        return None if connection.create(path, mine.encode()) else replace(mine, owner="somebody")
    found = _parse(content) or _first_seen(connection, content, now)
    now = moment(connection)  # after the sign of life was read: before it, it would lie in the future
    if not found.is_stale(now) and found.token not in _LEFT:
        return found
    claim = _claim(connection, content, now)
    if not claim or connection.read(path) != content:
        if claim:
            connection.remove(claim)
        return replace(found, owner=f"somebody who takes over from {_who(found)}")
    return None if _replace(connection, content, mine) else replace(mine, owner="somebody")


def _replace(connection: Connection, stale: bytes, mine: Mark) -> bool:
    """Move the stale lock aside, look whether that is what was moved, and take the free place, if nobody was faster."""
    path, aside = _path(connection), _aside(connection, mine)
    try:
        connection.move(path, aside)
    except DeviceError:
        if connection.read(path) is not None:
            raise
        return connection.create(path, mine.encode())  # its owner removed it after all
    moved = connection.read(aside)
    connection.remove(aside)
    if moved is not None and moved != stale:
        connection.create(path, moved)  # its owner came back to life between two looks: put it back
        return False
    return connection.create(path, mine.encode())


def _claim(connection: Connection, stale: bytes, now: Moment) -> str:
    """The right to replace this very content of the lock file: the path of the claim, or "" when it is another's.

    Each claim is a file that only one can create; the next number may be claimed when the one who had the last was silent for too long.
    Claims go when the board is taken: the content is another then, which is why a claim is followed by one more look at it.
    """
    folder = _claims(connection)
    connection.make_folder(folder)
    mark = Mark("claim", secrets.token_hex(16), now.boot, now.uptime_s, _CLAIM_SECONDS, now.uptime_s)
    for number in range(_CLAIMS):
        path = f"{folder}/{hashlib.sha256(stale).hexdigest()}.{number}"
        if connection.create(path, mark.encode()):
            return path
        last = _parse(connection.read(path) or b"")
        if last is None or not last.is_stale(moment(connection)):
            return ""
    return ""


def _first_seen(connection: Connection, content: bytes, now: Moment) -> Mark:
    """A mark for content that is none: as old as the note of the first who saw it."""
    path = f"{_claims(connection)}/{hashlib.sha256(content).hexdigest()}.seen"
    note = Mark("somebody whose lock file cannot be read", "", now.boot, now.uptime_s, connection.device.limits.lock, now.uptime_s)
    connection.make_folder(_claims(connection))
    if connection.create(path, note.encode()):
        return note
    seen = _parse(connection.read(path) or b"")
    if seen is None:
        connection.remove(path)  # the next look writes it anew
        return note
    return replace(note, boot=seen.boot, uptime_s=seen.uptime_s, since_s=seen.since_s)


def _tidy(connection: Connection) -> None:
    """Remove claims and notes, which are about locks that are gone. The folder stays: somebody may be writing into it."""
    for name in connection.sizes(_claims(connection)):
        if not name.startswith("."):
            connection.remove(f"{_claims(connection)}/{name}")


@contextmanager
def _leaving(mark: Mark) -> Iterator[None]:
    """Remember a lock that may stay behind on the board because the line broke: this process may take its own back at once."""
    try:
        yield
    except DeviceError:
        _LEFT.add(mark.token)
        raise


def _parse(content: bytes) -> Mark | None:
    """None for what nobody could mean as a lock."""
    try:
        facts = json.loads(content)
        texts = [facts[key] for key in ("owner", "token", "boot")]
        numbers = [_finite(facts[key]) for key in ("uptime_s", "limit_s")]
        numbers.append(_finite(facts.get("since_s", numbers[0])))
        if not all(isinstance(text, str) and len(text) <= 1000 for text in texts) or min(numbers) < 0 or max(numbers) > _MOST_SECONDS:
            return None
        return Mark(*texts, *numbers)
    except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None


def _busy(connection: Connection, mark: Mark, now: Moment) -> BoardBusy:
    same = mark.boot == now.boot
    facts = (
        [f"taken {max(0.0, now.uptime_s - mark.since_s):.0f} s ago", f"last sign of life {max(0.0, mark.age(now)):.0f} s ago"]
        if same
        else []
    )
    problems = [Problem(f"{', '.join(facts)}; free after {mark.limit_s:g} s of silence")] if facts else []
    hint = f"wait (limits.wait), or remove {_path(connection)} on the board when you know that nobody works there"
    return BoardBusy(f"the board is in use by {_who(mark)}", problems, where=connection.device.name, hint=hint)


def _who(mark: Mark) -> str:
    return printable(mark.owner, _OWNER).replace("\n", " ").strip() or "somebody without a name"


def _finite(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, bytes)):
        raise TypeError("not a number")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError("not a number")
    return number


def _path(connection: Connection) -> str:
    return f"{connection.device.work}/lock"


def _aside(connection: Connection, mark: Mark) -> str:
    return f"{_path(connection)}.{mark.token}"


def _claims(connection: Connection) -> str:
    """A folder for what is needed to take a stale lock over; no package can be called so."""
    return f"{connection.device.work}/lock.d"
