"""Bringing a parcel to a board: only what is not there yet travels, and a version is seen whole or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from posixpath import dirname

from edgec.devices.checksum import checksums
from edgec.devices.connection import Connection
from edgec.devices.errors import BoardTimeout
from edgec.devices.exam import ProgramFailed
from edgec.devices.parcel import LISTING, Parcel
from edgec.devices.versions import (
    CURRENT,
    PREVIOUS,
    deployed,
    discard,
    folder_of,
    incoming_folder,
    is_version,
    pointed,
    roll_back,
    switch,
    version_folder,
    withdraw,
)
from edgec.errors import DeviceError, GateError, Problem
from edgec.text import last_lines

__all__ = ["Deployment", "deploy", "deployed", "outlook", "roll_back"]

_SPARE = 64 * 1024  # bytes of disk that must stay free: folders, names, the lock
_SLOWEST = 1_000_000  # bytes a second that any board copies


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
    connection: Connection,
    parcel: Parcel,
    tell: Callable[[str], None] | None = None,
    *,
    judge: Callable[[str], None] | None = None,
    renew: Callable[[], None] | None = None,
    keep: Collection[str] = (),
) -> Deployment:
    """Make a parcel the version in use. The caller holds the board's lock; `renew` is called before each file that travels.

    A cut in the middle leaves the version that was in use, and what has arrived is kept for the next try. judge: gets the path of the
    new exam program before the switch; when it raises GateError, ProgramFailed or BoardTimeout, that version is withdrawn: it is removed
    and, should it have been in use, the version before it is again. keep: versions that stay, besides this one and the one that was in
    use. DeviceError: the disk is full or read-only, or files arrive changed.
    """
    work = _Work(connection, parcel, tell or (lambda text: None), renew or (lambda: None), frozenset(keep))
    name, version = parcel.facts.name, parcel.version
    _tidy(work)
    needed = work.unproven()
    if needed:
        _stage(work, needed)
    _put_in_place(work, needed)
    program = f"{work.folder}/{parcel.program}"
    if judge is not None:
        _prove(work, program, judge)
    switch(connection, name, version)
    _tidy(work)
    kept = len(work.wanted) - len(work.sent)
    return Deployment(program, version, work.folder, len(work.sent), sum(work.sent.values()), kept)


def outlook(connection: Connection, parcel: Parcel) -> Deployment:
    """What deploy() would do, as far as sizes and names tell; nothing changes on the board."""
    work = _Work(connection, parcel, lambda text: None, lambda: None)
    there = {**connection.sizes(work.incoming), **connection.sizes(work.folder)}
    same = _in_use(work)
    sent = [path for path, data in work.wanted.items() if there.get(path) != len(data) and same.get(path) != _sha256(data)]
    size = sum(len(work.wanted[path]) for path in sent)
    return Deployment(f"{work.folder}/{parcel.program}", parcel.version, work.folder, len(sent), size, len(work.wanted) - len(sent))


@dataclass
class _Work:
    """One deployment while it goes on. sent: bytes that travelled, by path."""

    connection: Connection
    parcel: Parcel
    tell: Callable[[str], None]
    renew: Callable[[], None]
    keep: frozenset[str] = frozenset()
    sent: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        name, version = self.parcel.facts.name, self.parcel.version
        self.folder = version_folder(self.connection, name, version)
        self.incoming = incoming_folder(self.connection, name, version)
        self.wanted: Mapping[str, bytes] = {**self.parcel.files, LISTING: self.parcel.listing}

    def good(self, folder: str, paths: Iterable[str], sizes: Mapping[str, int]) -> set[str]:
        """Which files of a folder are exactly those of the parcel, by their size and their checksum on the board."""
        whole = [path for path in paths if sizes.get(path) == len(self.wanted[path])]
        hashes = checksums(self.connection, {f"{folder}/{path}": sizes[path] for path in whole})
        return {path for path in whole if hashes[f"{folder}/{path}"] == _sha256(self.wanted[path])}

    def unproven(self) -> set[str]:
        """The files that the version's folder lacks, or has in another form."""
        return set(self.wanted) - self.good(self.folder, self.wanted, self.connection.sizes(self.folder))


def _stage(work: _Work, needed: set[str]) -> None:
    """Bring files into the incoming folder: those that are there from a try before, copies from the version in use, and the rest."""
    connection, folder = work.connection, work.incoming
    there = connection.sizes(folder)
    for path in set(there) - needed:
        connection.remove(f"{folder}/{path}")
    good = work.good(folder, needed, there)
    _check_space(work, sum(len(work.wanted[path]) - (0 if path in good else there.get(path, 0)) for path in needed - good))
    for parent in sorted({dirname(f"{folder}/{path}") for path in needed}):
        connection.make_folder(parent)
    copied = _copy(work, needed - good - set(there))
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


def _copy(work: _Work, paths: set[str]) -> set[str]:
    """Copy on the board what the version in use has already; which files that was tried for."""
    name, same = work.parcel.facts.name, _in_use(work)
    version = pointed(work.connection, name, CURRENT)
    if version is None or version == work.parcel.version:
        return set()
    found = {path for path in paths if same.get(path) == _sha256(work.wanted[path])}
    old = version_folder(work.connection, name, version)
    for parent in sorted({dirname(path) for path in found}):
        files = sorted(path for path in found if dirname(path) == parent)
        seconds = work.connection.device.limits.command + sum(len(work.wanted[path]) for path in files) / _SLOWEST
        into = f"{work.incoming}/{parent}" if parent else work.incoming
        work.connection.execute(["cp", "-p", *(f"{old}/{path}" for path in files), into], seconds=seconds)
    return found


def _send(work: _Work, path: str, there: int) -> None:
    """there: bytes of it that a try before left. The beginning of it is continued; as many bytes as it should have are wrong ones."""
    data = work.wanted[path]
    work.renew()
    work.tell(f"sending {path}, {len(data):,} bytes")
    place = f"{work.incoming}/{path}"
    if there >= len(data) > 0:
        work.connection.remove(place)
        there = 0
    work.connection.write(place, data, mode=work.parcel.mode(path), resume=True)
    work.sent[path] = work.sent.get(path, 0) + len(data) - there


def _put_in_place(work: _Work, needed: set[str]) -> None:
    """The whole folder at once; or, where the version is there and some of its files were not right, each of those at once."""
    connection = work.connection
    if not needed:
        connection.execute(["chmod", "755", f"{work.folder}/{work.parcel.program}"])
        return
    paths = [f"{work.incoming}/{path}" for path in sorted(needed)]
    with suppress(BoardTimeout):  # a board that loses its power now must not have names without content
        if connection.execute(["sync", *paths], seconds=connection.device.limits.transfer).status != 0:
            connection.execute(["sync"], seconds=connection.device.limits.transfer)
    if not connection.sizes(work.folder):
        connection.remove(work.folder)
        connection.make_folder(dirname(work.folder))
        connection.move(work.incoming, work.folder)
        return
    for path in sorted(needed):
        connection.make_folder(dirname(f"{work.folder}/{path}"))
        connection.move(f"{work.incoming}/{path}", f"{work.folder}/{path}")
    connection.remove(work.incoming)


def _prove(work: _Work, program: str, judge: Callable[[str], None]) -> None:
    try:
        judge(program)
    except (BoardTimeout, GateError, ProgramFailed) as error:
        name = work.parcel.facts.name
        stays = withdraw(work.connection, name, work.parcel.version)
        what = (
            f"this version was withdrawn; in use is {stays[:12]}"
            if stays
            else f"this version was withdrawn; no version of {name} is in use"
        )
        problems = [*error.problems, Problem(what)]
        raise type(error)(error.summary, problems, where=error.where, hint=error.hint) from error


def _tidy(work: _Work) -> None:
    """Remove versions beyond the present one, the one before and those to keep, and uploads that nobody goes on with."""
    connection, name = work.connection, work.parcel.facts.name
    parts = [path.split("/") for path in connection.sizes(folder_of(connection, name))]
    found = {(part[0], part[1]) for part in parts if len(part) > 2 and is_version(part[1]) and part[1] != work.parcel.version}
    used = {pointed(connection, name, CURRENT), pointed(connection, name, PREVIOUS), *work.keep}
    for kind, version in sorted(found):
        if kind == "incoming":
            connection.remove(incoming_folder(connection, name, version))
        elif kind == "versions" and version not in used:
            discard(connection, name, version)


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


def _in_use(work: _Work) -> dict[str, str]:
    """sha256 of each file of the version in use, as its files.json says; {} when that is not what the version is named by."""
    connection, name = work.connection, work.parcel.facts.name
    version = pointed(connection, name, CURRENT)
    content = connection.read(f"{version_folder(connection, name, version)}/{LISTING}") if version else None
    if content is None or _sha256(content) != version:
        return {}
    try:
        return {str(path): str(facts["sha256"]) for path, facts in json.loads(content)["files"].items()}
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return {}


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
