"""One user at a time: a lock on the board that is a fence too.

WORK/lock holds exactly one folder, NUMBER.TOKEN. Who takes the board renames it: the number rises by one with every owner, only one of
those who try can win, and every path of the owner before leads nowhere from that moment on. All that changes a package is one rename
from or into this folder (uploads come out of it, what is thrown away goes into it), so a host that was paused, and wakes up when the
board is another's, cannot do harm. Inside, a file called TOKEN is the owner's sign of life (see mark.py), called `free` when the board is
given back; it decides who may try, never who wins.
"""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from posixpath import dirname

from edgec.base.errors import DeviceError, Problem
from edgec.base.harmless import printable
from edgec.boards.connect.connection import Connection
from edgec.boards.connect.peek import peek
from edgec.boards.connect.trouble import BoardLost
from edgec.boards.deploy.sign_of_life import CLOCKS, MOST_OWNER, Mark, Moment, moment, parse_mark, read_clocks

Tell = Callable[[str], None]

POLL = 1.0  # seconds between two looks at a board that is in use
INCOMING, LEFT, _WASTE, _FREE = "incoming", "left", "waste", "free"
_OFTEN = 4  # signs of life within the time that ends a lock
_LOOKS = 20  # at a lock that is there and changes hands
_SOONEST = 1.0  # seconds between two of them that nobody asked for
_TENURE = re.compile(r"([0-9]{1,18})\.([0-9a-f]{16})")
_LEFT_BEHIND: set[str] = set()  # tokens of locks that this process could not release


class BoardBusy(DeviceError):
    """Somebody else uses the board."""


class LockLost(BoardBusy):
    """Somebody else took the board over from us: nothing that we do there has an effect any more."""


@dataclass(frozen=True, order=True)
class Tenure:
    """One owner's time: the number that the board counts, and a word that no other owner has."""

    number: int
    token: str

    def __str__(self) -> str:
        return f"{self.number}.{self.token}"


class Lock:
    """A board that is ours. Everybody else keeps off until it is released, or until limits.lock seconds after the last sign of life.

    folder: ours alone; it is gone when somebody took the board over, and then every rename from or into it fails.
    """

    def __init__(self, connection: Connection, tenure: Tenure, mark: Mark) -> None:
        self.connection, self.number, self.folder = connection, tenure.number, _folder(connection, tenure)
        self._path, self._mark, self._signed = _mark_path(connection, tenure), mark, time.monotonic()
        self._alone, self._has_waste = threading.Lock(), False

    def renew(self) -> None:
        """Give a sign of life. LockLost when the lock is not ours any more."""
        with self._alone, self.fenced():
            now = moment(self.connection)
            self._mark = replace(self._mark, boot=now.boot, uptime_s=now.uptime_s)
            self.connection.write(self._path, self._mark.encode())
            self._signed = time.monotonic()

    def check(self) -> None:
        """LockLost when the lock is not ours any more."""
        if not self._is_ours():
            raise self._lost()

    def beat(self) -> None:
        """Give a sign of life when one is due."""
        if time.monotonic() - self._signed >= self._pause:
            self.renew()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the lock while something takes long on the board, over a second channel. LockLost at the end when that failed."""
        done, lost = threading.Event(), list[LockLost]()

        def watch() -> None:
            while not lost and not done.wait(self._pause):
                try:
                    self.beat()
                except LockLost as error:
                    lost.append(error)
                except DeviceError:
                    continue  # who waits for the board hears of a broken line; the next sign of life may come through

        thread = threading.Thread(target=watch, name="signs of life", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
        if lost:
            raise lost[0]

    @contextmanager
    def fenced(self) -> Iterator[None]:
        """Trouble with changes in here is LockLost when it is because the board is another's by now."""
        try:
            yield
        except (BoardLost, LockLost):
            raise
        except DeviceError as error:
            if self._is_ours():
                raise
            raise self._lost() from error

    def make_folder(self, path: str) -> None:
        """A folder in ours, with its parents. It is not made when ours is gone, which would be a fence with a hole."""
        with self.fenced():
            self.connection.make_folder(path, inside=self.folder)

    def move(self, old: str, new: str) -> None:
        """A rename that only the owner can do: one of the paths is in our folder."""
        assert old.startswith(f"{self.folder}/") or new.startswith(f"{self.folder}/")
        with self.fenced():
            self.connection.move(old, new)

    def drop(self, path: str) -> None:
        """Remove a file or folder; it leaves its place at once, for good, before any of it is removed. None there is fine."""
        waste = f"{self.folder}/{_WASTE}/{secrets.token_hex(8)}"
        if not self._has_waste:
            self.make_folder(_WASTE)
            self._has_waste = True
        try:
            self.move(path, waste)
        except LockLost:
            raise
        except DeviceError:
            if self.connection.read(path) is not None or self.connection.sizes(path):
                raise
            return
        self.connection.sync([dirname(path)])
        self.connection.remove(waste)

    def release(self) -> None:
        """Free the board, if it is still ours."""
        with _leaving(self._path), suppress(LockLost), self._alone:
            self.move(self._path, f"{self.folder}/{_FREE}")  # which needs no room on a disk that is full

    @property
    def _pause(self) -> float:
        return max(_SOONEST, self._mark.limit_s / _OFTEN)

    def _lost(self) -> LockLost:
        hint = f"somebody took it over after {self._mark.limit_s:g} s of silence: raise limits.lock, and start again"
        return LockLost("the board's lock was lost", where=self.connection.device.name, hint=hint)

    def _is_ours(self) -> bool:
        return self.connection.read(self._path) is not None


@contextmanager
def hold(connection: Connection, owner: str, tell: Tell | None = None) -> Iterator[Lock]:
    """Take the board, waiting up to limits.wait seconds; release it at the end, however that comes.

    BoardBusy names who has it, for how long, and the next step. A lock whose owner was silent for longer than it promised, that is from
    before the board's last start, or that says nothing that could be read, is taken over by exactly one of those who find it. A failing
    release is told, never raised.
    """
    say = tell or (lambda text: None)
    lock = _take(connection, printable(owner, MOST_OWNER), say)
    try:
        yield lock
    finally:
        try:
            lock.release()
        except DeviceError as error:
            say(f"the lock stays on the board for up to {connection.device.limits.lock:g} s: {error.summary}")


def forfeit(connection: Connection, is_gone: Callable[[str], bool]) -> bool:
    """Free a board whose owner is known to be gone, long before its lock is stale; False when it is not, or the board is free."""
    there = _tenure(connection)
    mark = _mark_of(connection, there) if there else None
    if there is None or mark is None or not is_gone(mark.owner):
        return False
    lock = _seize(connection, there, mark)
    if lock is not None:
        lock.release()
    return lock is not None


def _take(connection: Connection, owner: str, say: Tell) -> Lock:
    end = time.monotonic() + connection.device.limits.wait
    told = ""
    while True:
        there = _tenure_among(peek(connection, [_path(connection)], []).sizes[_path(connection)])
        if there is None:
            _found(connection)
            continue
        mark, now = _mark_and_moment(connection, there)
        if mark is None or not mark.is_alive(now) or there.token in _LEFT_BEHIND:
            mine = Mark(owner, now.boot, now.uptime_s, connection.device.limits.lock, now.uptime_s)
            if lock := _seize(connection, there, mine):
                return lock
            continue  # somebody was faster: who?
        left = end - time.monotonic()
        if left <= 0:
            raise _busy(connection, mark, now)
        if mark.owner != told:
            told = mark.owner
            say(f"waiting for {mark.who}")
        time.sleep(min(POLL, left))


def _seize(connection: Connection, there: Tenure, mine: Mark) -> Lock | None:
    """Become the owner after the one that is there; None when somebody else was faster."""
    next_one = Tenure(there.number + 1, secrets.token_hex(8))
    old, new = _folder(connection, there), _folder(connection, next_one)
    with _leaving(new):
        try:
            full = not _try(lambda: connection.write(f"{old}/{next_one.token}", mine.encode()))  # it counts when the folder has its name
            connection.sync([old])
            connection.move(old, new)
        except BoardLost:
            raise
        except DeviceError:
            if _tenure(connection) == there:
                raise
            return None
        connection.sync([dirname(new)])  # the number never falls back
        lock = Lock(connection, next_one, mine)
        try:
            _move_in(lock, set() if full else {next_one.token, INCOMING, _FREE})
            if full:
                lock.renew()
        except LockLost:
            return None
        return lock


def _try(action: Callable[[], None]) -> bool:
    """Whether it worked, on a line that stands."""
    try:
        action()
    except BoardLost:
        raise
    except DeviceError:
        return False
    return True


def _move_in(lock: Lock, useful: set[str]) -> None:
    """Clear the folder. Uploads of the owner before go to LEFT: it may still have some of them open, so they may be copied, not used."""
    folder, connection = lock.folder, lock.connection
    with lock.fenced():
        found = {path.split("/")[0] for path in peek(connection, [folder], []).sizes[folder]}
        if useful and not useful & found:
            raise LockLost("the board's lock was lost", where=connection.device.name, hint="somebody was faster")
        stays = useful if INCOMING in found else useful | {LEFT}
        for name in sorted(found - stays):
            connection.remove(f"{folder}/{name}")
        if INCOMING in found & stays:
            connection.remove(f"{folder}/{LEFT}")  # which may be folders without a file: nothing was found of them
            connection.move(f"{folder}/{INCOMING}", f"{folder}/{LEFT}")
    if lock.number == 1:
        _remove_rivals(connection)


def _found(connection: Connection) -> None:
    """Put a free lock where none is. It appears with all that is in it, so that there is never another with a number of its own."""
    path, first = _path(connection), Tenure(0, secrets.token_hex(8))
    aside = f"{path}.{first.token}"
    connection.make_folder(connection.device.work)
    try:
        connection.make_folder(f"{aside}/{first}")
        connection.write(f"{aside}/{first}/{_FREE}", b"")
        connection.sync([f"{aside}/{first}", aside])
        connection.move(aside, path)
    except BoardLost:
        raise
    except DeviceError:  # who was faster may have removed what we prepared
        _try(lambda: connection.remove(aside))
        if "lock" in connection.sizes(connection.device.work):
            what = f"{path} on the board is a file, as older versions of edgec write it"
            raise BoardBusy(what, where=connection.device.name, hint="remove it when you know that nobody works there") from None
        if not any(_tenure(connection) for _ in range(_LOOKS)):
            raise
    connection.sync(_lineage(connection.device.work))


def _remove_rivals(connection: Connection) -> None:
    """Locks that others prepared for this board, and were too late with; one that is being written this moment may stay for its writer."""
    work = connection.device.work
    for name in {path.split("/")[0] for path in connection.sizes(work)}:
        if re.fullmatch(r"lock\.[0-9a-f]{16}", name):
            _try(partial(connection.remove, f"{work}/{name}"))


def _tenure(connection: Connection) -> Tenure | None:
    """Whose number the board has; None where no lock was ever made, or where its folder got another name while we looked."""
    return _tenure_among(connection.sizes(_path(connection)))


def _tenure_among(paths: Iterable[str]) -> Tenure | None:
    """Of the paths below the lock."""
    names = {path.split("/")[0] for path in paths}
    found = [Tenure(int(match[1]), match[2]) for match in map(_TENURE.fullmatch, names) if match]
    return max(found, default=None)


def _mark_of(connection: Connection, tenure: Tenure) -> Mark | None:
    return parse_mark(connection.read(_mark_path(connection, tenure)) or b"")


def _mark_path(connection: Connection, tenure: Tenure) -> str:
    return f"{_folder(connection, tenure)}/{tenure.token}"


def _mark_and_moment(connection: Connection, tenure: Tenure) -> tuple[Mark | None, Moment]:
    """The sign of life, and the time after it was read: at a time before it, it would lie in the future. It is opened, not looked for in
    the list of the folder: such a list may lack a file that is being replaced."""
    place = _mark_path(connection, tenure)
    seen = peek(connection, [], [place, *CLOCKS])
    clock = read_clocks(b" ".join(seen.files[path] or b"" for path in CLOCKS)) if seen.at_once else None
    return parse_mark(seen.files[place] or b""), clock or moment(connection)


@contextmanager
def _leaving(path: str) -> Iterator[None]:
    """Remember a lock that may stay behind on the board because the line broke: this process may take its own back at once."""
    try:
        yield
    except DeviceError:
        _LEFT_BEHIND.add(path.rpartition("/")[2].rpartition(".")[2])
        raise


def _busy(connection: Connection, mark: Mark, now: Moment) -> BoardBusy:
    facts = [f"taken {max(0.0, now.uptime_s - mark.since_s):.0f} s ago", f"last sign of life {max(0.0, mark.age(now)):.0f} s ago"]
    problems = [Problem(f"{', '.join(facts)}; free after {mark.limit_s:g} s of silence")]
    hint = f"wait (limits.wait), or remove {_path(connection)} on the board when you know that nobody works there"
    return BoardBusy(f"the board is in use by {mark.who}", problems, where=connection.device.name, hint=hint)


def _lineage(path: str) -> list[str]:
    """A folder and those that hold it."""
    found = [path]
    while (path := dirname(path) or ".") != found[-1]:
        found.append(path)
    return found


def _path(connection: Connection) -> str:
    """No package can be called so."""
    return f"{connection.device.work}/lock"


def _folder(connection: Connection, tenure: Tenure) -> str:
    return f"{_path(connection)}/{tenure}"
