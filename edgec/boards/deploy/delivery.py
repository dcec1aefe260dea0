"""Bringing a parcel to a board: only what is not there yet travels, and a version is seen whole or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from posixpath import dirname

from edgec.base.errors import DeviceError, Problem
from edgec.base.harmless import last_lines
from edgec.boards.connect.connection import Connection
from edgec.boards.connect.trouble import BoardLost
from edgec.boards.deploy.checksum import checksums
from edgec.boards.deploy.counter import check_number, highest_in, is_news, remember_number
from edgec.boards.deploy.lock import Lock, LockLost
from edgec.boards.deploy.parcel import LISTING, Parcel
from edgec.boards.deploy.proof import NOT_GOOD, listed
from edgec.boards.deploy.survey import Survey, survey
from edgec.boards.deploy.versions import (
    Pointers,
    deployed,
    discard,
    folder_of,
    incoming_folder,
    is_version,
    left_folder,
    pointers,
    recover,
    roll_back,
    switch,
    version_folder,
    withdraw,
)

__all__ = ["Deployment", "deploy", "deployed", "outlook", "roll_back"]

_SPARE = 64 * 1024  # bytes of disk that must stay free: folders, names, the lock
_SLOWEST = 1_000_000  # bytes a second that any board copies
_SET_MODES = 'program=$1; shift; chmod 644 -- "$@"; chmod 755 -- "$program"'
_IS_NO_FOLDER = '[ -L "$1" ] || { [ -e "$1" ] && [ ! -d "$1" ]; }'


@dataclass(frozen=True)
class Deployment:
    """program: path of the exam program on the board. folder: of the version. kept_files: those that did not have to travel."""

    program: str
    version: str
    folder: str
    sent_files: int
    sent_bytes: int
    kept_files: int


def deploy(
    lock: Lock,
    parcel: Parcel,
    tell: Callable[[str], None] | None = None,
    *,
    judge: Callable[[str], None] | None = None,
    keep: Collection[str] = (),
    allow_downgrade: bool = False,
    counts: bool = True,
) -> Deployment:
    """Make a parcel the version in use, on a board that is ours.

    A cut in the middle leaves the version that was in use, and what has arrived is kept for the next try. judge: gets the path of the
    new exam program before the switch; when it raises GateError, ProgramFailed or BoardTimeout, that version is withdrawn: it is removed
    and, should it have been in use, the version before it is again. keep: versions that stay, besides this one and the one that was in
    use. counts: whether the number of its version is remembered. DeviceError: the disk is full or read-only, or files arrive changed;
    Downgrade: its number is below the highest that the board has accepted; LockLost: the board is another's by now.
    """
    work = _Work(lock, parcel, tell or (lambda text: None), frozenset(keep))
    with lock.fenced():
        seen = work.look()
        if not allow_downgrade:
            check_number(lock.connection, parcel, highest_in(lock.connection, parcel.facts.name, seen.highest))
        _deploy(work, seen, judge, counts)
    kept = len(work.wanted) - len(work.sent)
    program = f"{work.folder}/{parcel.program}"
    return Deployment(program, parcel.version, work.folder, len(work.sent), sum(work.sent.values()), kept)


def _deploy(work: _Work, seen: Survey, judge: Callable[[str], None] | None, counts: bool) -> None:
    """Every change on the board, in its order; where there is none to make, the board's owner is all that is looked at again."""
    lock, name, version = work.lock, work.parcel.facts.name, work.parcel.version
    if not seen.is_settled:
        recover(lock, name)
        seen = work.look()
    found = seen.pointers
    _tidy(work, seen)
    needed = work.unproven(seen.sizes(version))
    if needed:
        _stage(work, needed)
        _put_in_place(work, needed)
    if judge is not None:
        _prove(work, f"{work.folder}/{work.parcel.program}", judge)
    news = counts and is_news(lock.connection, work.parcel, seen.highest)
    if not needed and not news and found.current == version:
        return lock.check()
    lock.renew()
    if news:
        remember_number(lock, work.parcel)
    if found.current != version:
        switch(lock, name, Pointers(version, found.current or found.previous))
    return _tidy(work, work.look())


def outlook(connection: Connection, parcel: Parcel) -> Deployment:
    """What deploy() would do, as far as sizes and names tell; nothing changes on the board."""
    wanted = _wanted(parcel)
    folder = version_folder(connection, parcel.facts.name, parcel.version)
    there, same = connection.sizes(folder), _in_use(connection, parcel.facts.name)
    sent = [path for path, data in wanted.items() if there.get(path) != len(data) and same.get(path) != _sha256(data)]
    size = sum(len(wanted[path]) for path in sent)
    return Deployment(f"{folder}/{parcel.program}", parcel.version, folder, len(sent), size, len(wanted) - len(sent))


@dataclass
class _Work:
    """One deployment while it goes on. sent: bytes that travelled, by path."""

    lock: Lock
    parcel: Parcel
    tell: Callable[[str], None]
    keep: frozenset[str] = frozenset()
    sent: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        name, version = self.parcel.facts.name, self.parcel.version
        self.connection = self.lock.connection
        self.folder = version_folder(self.connection, name, version)
        self.incoming = incoming_folder(self.lock, name, version)
        self.left = left_folder(self.lock, name, version)
        self.wanted = _wanted(self.parcel)

    def good(self, folder: str, paths: Iterable[str], sizes: Mapping[str, int]) -> set[str]:
        """Which files of a folder are exactly those of the parcel, by their size and their checksum on the board."""
        whole = [path for path in paths if sizes.get(path) == len(self.wanted[path])]
        with self.lock.kept():
            hashes = checksums(self.connection, {f"{folder}/{path}": sizes[path] for path in whole})
        return {path for path in whole if hashes[f"{folder}/{path}"] == _sha256(self.wanted[path])}

    def look(self) -> Survey:
        return survey(self.lock, self.parcel.facts.name, self.parcel.version)

    def set_modes(self, folder: str, paths: Iterable[str]) -> None:
        """Let everybody read files of the parcel and run its program, and nobody more, whatever they were on the board before."""
        program = f"{folder}/{self.parcel.program}"
        places = sorted({f"{folder}/{path}" for path in paths} - {program})
        self.connection.execute(["sh", "-c", _SET_MODES, "sh", program, *places])

    def unproven(self, sizes: Mapping[str, int]) -> set[str]:
        """The files that the version's folder lacks, or has in another form; those that it has get their modes."""
        if sizes:
            self.set_modes(self.folder, self.wanted.keys() & sizes.keys())
        return set(self.wanted) - self.good(self.folder, self.wanted, sizes)

    def make_incoming(self, folders: Iterable[str]) -> None:
        """Folders of the version that arrives, by their paths in it."""
        base = self.incoming.removeprefix(f"{self.lock.folder}/")
        for folder in sorted(set(folders)):
            self.lock.make_folder(f"{base}/{folder}" if folder else base)


def _stage(work: _Work, needed: set[str]) -> None:
    """Bring files into the incoming folder: copies of what a try before left, copies from the version in use, and the rest."""
    connection, folder = work.connection, work.incoming
    left = {path: size for path, size in connection.sizes(work.left).items() if path in needed and size <= len(work.wanted[path])}
    _check_space(work, sum(len(work.wanted[path]) for path in needed) - sum(left.values()))
    work.make_incoming(dirname(path) for path in needed)
    _copy(work, work.left, left)
    there = connection.sizes(folder)
    good = work.good(folder, needed, there)
    copied = _copy_same(work, needed - good - set(there))
    good |= work.good(folder, copied, connection.sizes(folder)) if copied else set()
    for attempt in (1, 2):
        missing = sorted(needed - good)
        for path in missing:
            spoiled = attempt == 2 or path in copied
            _send(work, path, len(work.wanted[path]) if spoiled else there.get(path, 0))
        good |= work.good(folder, missing, connection.sizes(folder)) if missing else set()
    if wrong := needed - good:
        problems = [Problem("its checksum on the board is another", path) for path in sorted(wrong)]
        hint = "is the board's disk worn out? try another `work` folder"
        raise DeviceError("files arrive changed", problems, where=connection.device.name, hint=hint)


def _copy_same(work: _Work, paths: set[str]) -> set[str]:
    """Copy on the board what the version in use has already; which files that was tried for."""
    name = work.parcel.facts.name
    same, version = _in_use(work.connection, name), pointers(work.connection, name).current
    if version is None or version == work.parcel.version:
        return set()
    found = {path for path in paths if same.get(path) == _sha256(work.wanted[path])}
    _copy(work, version_folder(work.connection, name, version), found)
    return found


def _copy(work: _Work, source: str, paths: Collection[str]) -> None:
    """Copies, never the files themselves: whoever wrote those may have them open still."""
    for parent in sorted({dirname(path) for path in paths}):
        files = sorted(path for path in paths if dirname(path) == parent)
        seconds = work.connection.device.limits.command + sum(len(work.wanted[path]) for path in files) / _SLOWEST
        into = f"{work.incoming}/{parent}" if parent else work.incoming
        with work.lock.kept():
            work.connection.execute(["cp", *(f"{source}/{path}" for path in files), into], seconds=seconds)


def _send(work: _Work, path: str, there: int) -> None:
    """there: bytes of it that a try before left. The beginning of it is continued; as many bytes as it should have are wrong ones."""
    data, place = work.wanted[path], f"{work.incoming}/{path}"
    work.lock.beat()
    work.tell(f"sending {path}, {len(data):,} bytes")
    if there >= len(data) > 0:
        work.connection.remove(place)
        there = 0
    work.connection.write(place, data, mode=work.parcel.mode(path), sent=lambda at: work.lock.beat(), resume=True)
    work.sent[path] = work.sent.get(path, 0) + len(data) - there


def _put_in_place(work: _Work, needed: set[str]) -> None:
    """The whole folder at once; or, where the version is there and some of its files were not right, each of those at once."""
    connection, lock = work.connection, work.lock
    folders = {"", *(parent for path in needed for parent in _parents(path))}
    work.set_modes(work.incoming, needed)
    with lock.kept():  # a board that loses its power after the rename must not have names without content
        connection.sync(sorted(f"{work.incoming}/{path}".rstrip("/") for path in (*needed, *folders)))
    lock.beat()
    home = folder_of(connection, work.parcel.facts.name)
    connection.make_folder(dirname(work.folder))
    if connection.sizes(work.folder) and not _is_no_folder(connection, work.folder):
        _mend(work, needed, folders)
    else:
        _move(lock, work.incoming, work.folder)
    connection.sync([dirname(work.folder), home, dirname(home)])


def _mend(work: _Work, needed: set[str], folders: set[str]) -> None:
    """Put files of a version in their places. A link in the place of a folder leads out of the version: what is behind it is not ours."""
    places = sorted(f"{work.folder}/{folder}".rstrip("/") for folder in folders)
    for place in places:
        if _is_no_folder(work.connection, place):
            work.lock.drop(place)
        work.connection.make_folder(place)
    for path in sorted(needed):
        _move(work.lock, f"{work.incoming}/{path}", f"{work.folder}/{path}")
    work.connection.sync(places)


def _move(lock: Lock, old: str, new: str) -> None:
    """A rename; what is in its way and cannot be replaced, such as a folder, goes."""
    try:
        lock.move(old, new)
    except (BoardLost, LockLost):
        raise
    except DeviceError:
        lock.drop(new)
        lock.move(old, new)


def _is_no_folder(connection: Connection, path: str) -> bool:
    """Whether a link or a file has the place of a folder."""
    return connection.execute(["sh", "-c", _IS_NO_FOLDER, "sh", path]).status == 0


def _parents(path: str) -> list[str]:
    """The folders that a path leads through."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def _prove(work: _Work, program: str, judge: Callable[[str], None]) -> None:
    try:
        with work.lock.kept():
            judge(program)
    except NOT_GOOD as error:
        name = work.parcel.facts.name
        stays = withdraw(work.lock, name, work.parcel.version)
        what = (
            f"this version was withdrawn; in use is {stays[:12]}"
            if stays
            else f"this version was withdrawn; no version of {name} is in use"
        )
        problems = [*error.problems, Problem(what)]
        raise type(error)(error.summary, problems, where=error.where, hint=error.hint) from error


def _tidy(work: _Work, seen: Survey) -> None:
    """Remove uploads that nobody goes on with, and versions beyond the present one, the one before and those to keep; but no version while
    none is in use: who knows which one should be."""
    lock, used = work.lock, seen.pointers
    lock.beat()
    for folder, versions in seen.uploads.items():
        for version in versions - {work.parcel.version}:
            lock.drop(f"{folder}/{version}")
    if used.current is None or not seen.is_settled:
        return
    found = {path.split("/")[0] for path in seen.versions}
    stay = {used.current, used.previous, work.parcel.version, *work.keep}
    for version in sorted(filter(is_version, found - stay)):
        discard(lock, work.parcel.facts.name, version)


def _check_space(work: _Work, needed: int) -> None:
    """DeviceError when the board says that it has less free disk than that many bytes and some to spare."""
    device = work.connection.device
    folder = folder_of(work.connection, work.parcel.facts.name)
    work.connection.make_folder(folder)
    answer = work.connection.execute(["df", "-Pk", folder])
    lines = last_lines(answer.output, 1)
    words = lines[0].split() if lines else []
    if answer.status != 0 or len(words) < 6 or not words[3].isdecimal():
        return  # it does not tell: writing will
    free = int(words[3]) * 1024
    if free < needed + _SPARE:
        what = f"the disk of {device.work} has {free:,} bytes free, {needed + _SPARE:,} are needed"
        raise DeviceError(what, where=device.name, hint="free some space on the board, or give it another `work` folder")


def _in_use(connection: Connection, name: str) -> dict[str, str]:
    """sha256 of each file of the version in use."""
    version = pointers(connection, name).current
    files = listed(connection, version_folder(connection, name, version), version) if version else {}
    return {path: file.sha256 for path, file in files.items()}


def _wanted(parcel: Parcel) -> Mapping[str, bytes]:
    return {**parcel.files, LISTING: parcel.listing}


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
