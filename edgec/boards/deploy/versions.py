"""The versions of a package on a board: NAME/versions/<version>/ are whole copies, NAME/current names the one in use.

A version is named by the sha256 of its files.json. `current` and `previous` change together: the switch is the rename of a file that
names both, which is carried out, and would be by the next edgec if this one ends, before it is removed. Every change is a rename from or
into the folder of the board's lock, so nobody but its owner can make one, and is on the disk before the next begins.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from edgec.base.errors import DeviceError
from edgec.boards.connect.connection import Connection
from edgec.boards.deploy.lock import INCOMING, LEFT, Lock
from edgec.boards.deploy.proof import NOT_GOOD, NotWhole, listed, prove
from edgec.records.results import ExamResult

CURRENT, PREVIOUS, SWITCHING = "current", "previous", "switching"
_VERSION = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NOTHING = "none"


@dataclass(frozen=True)
class Pointers:
    """The version in use, and the one before it."""

    current: str | None = None
    previous: str | None = None


class NoPrevious(DeviceError):
    """There is no version to roll back to."""


def folder_of(connection: Connection, name: str) -> str:
    return f"{connection.device.work}/{name}"


def version_folder(connection: Connection, name: str, version: str) -> str:
    return f"{folder_of(connection, name)}/versions/{version}"


def incoming_folder(lock: Lock, name: str, version: str) -> str:
    """Where a version arrives: nobody but the lock's owner can put it in place, or remove it."""
    return f"{lock.folder}/{INCOMING}/{name}/{version}"


def left_folder(lock: Lock, name: str, version: str) -> str:
    """What the lock's owner before left of it."""
    return f"{lock.folder}/{LEFT}/{name}/{version}"


def pointers(connection: Connection, name: str) -> Pointers:
    """What `current` and `previous` name; what a switch names that has begun."""
    return pointers_in(lambda pointer: connection.read(f"{folder_of(connection, name)}/{pointer}"))


def pointers_in(read: Callable[[str], bytes | None]) -> Pointers:
    """The same, of what these files hold."""
    words = _first_line(read(SWITCHING)).split()
    if len(words) == 2 and all(is_version(word) or word == _NOTHING for word in words):
        return Pointers(*(None if word == _NOTHING else word for word in words))
    return Pointers(*(text if is_version(text := _first_line(read(pointer))) else None for pointer in (CURRENT, PREVIOUS)))


def switch(lock: Lock, name: str, to: Pointers) -> None:
    """Change both pointers, as one. A cut leaves the old ones or the new ones; the next `recover` carries on."""
    if pointers(lock.connection, name) != to:
        put(lock, name, {SWITCHING: f"{to.current or _NOTHING} {to.previous or _NOTHING}"})
    if _is_switching(lock.connection, name):
        _carry_out(lock, name, to)


def previous_of(connection: Connection, name: str) -> str:
    """The version that roll_back switches to; NoPrevious when there is none."""
    found = pointers(connection, name)
    if found.previous is None or found.previous == found.current or not is_there(connection, name, found.previous):
        hint = "only one version was ever deployed there" if found.current else f"deploy {name} first"
        raise NoPrevious(f"there is no previous version of {name} to roll back to", where=connection.device.name, hint=hint)
    return found.previous


def roll_back(lock: Lock, name: str) -> tuple[str, ExamResult]:
    """Switch to the version before the present one when it is whole and passes its exam: its name, and that exam. Else NoPrevious, or what
    `prove` raises. The present one is the one before then, so that rolling back twice changes nothing."""
    connection = lock.connection
    with lock.fenced():
        recover(lock, name)
        previous = previous_of(connection, name)
        exam = prove(lock, name, version_folder(connection, name, previous), previous)
        lock.renew()
        switch(lock, name, Pointers(previous, pointers(connection, name).current))
    return previous, exam


def recover(lock: Lock, name: str) -> Pointers:
    """Carry out a switch that was interrupted. Where `current` names no version that is there, although there was one in use, find one:
    the newest that is whole and passes its exam, the one before it last. Nothing is removed."""
    connection = lock.connection
    found = pointers(connection, name)
    if _is_switching(connection, name):
        _carry_out(lock, name, found)
    was_used = any(connection.read(f"{folder_of(connection, name)}/{pointer}") is not None for pointer in (CURRENT, PREVIOUS))
    if not was_used or (found.current and is_there(connection, name, found.current)):
        return found
    there = [version for version in _newest(connection, name) if is_there(connection, name, version)]
    for version in sorted(there, key=lambda version: version == found.previous):
        try:
            prove(lock, name, version_folder(connection, name, version), version)
        except (*NOT_GOOD, NotWhole):
            continue
        others = [other for other in there if other != version]
        found = Pointers(version, found.previous if found.previous in others else next(iter(others), None))
        switch(lock, name, found)
        break
    return found


def withdraw(lock: Lock, name: str, version: str) -> str | None:
    """Never use a version: where it is in use the one before is again, if that is good, or none is; and remove it. The version in use
    afterwards."""
    found = pointers(lock.connection, name)
    current = found.current
    if current == version:
        try:
            current, _ = roll_back(lock, name)
        except (*NOT_GOOD, NotWhole, NoPrevious):
            current = None
    switch(lock, name, Pointers(current, found.previous if found.previous not in (version, current) else None))
    discard(lock, name, version)
    return current


def discard(lock: Lock, name: str, version: str) -> None:
    """Remove a version that is not in use. It leaves `versions` at once, so that what is there is always whole."""
    lock.drop(version_folder(lock.connection, name, version))


def deployed(connection: Connection) -> dict[str, str]:
    """The version in use of every package on the board."""
    parts = [path.split("/") for path in connection.sizes(connection.device.work)]
    names = sorted({part[0] for part in parts if len(part) == 2 and part[1] in (CURRENT, SWITCHING) and _NAME.fullmatch(part[0])})
    return {name: version for name in names if (version := pointers(connection, name).current)}


def put(lock: Lock, name: str, texts: Mapping[str, str | None]) -> None:
    """Each file of the package's folder with its line, or none: whole, at once and on the disk."""
    connection, folder = lock.connection, folder_of(lock.connection, name)
    changed = {pointer: text for pointer, text in texts.items() if _text(connection, name, pointer) != (text or "")}
    asides = {pointer: f"{lock.folder}/{name}.{pointer}.{secrets.token_hex(4)}" for pointer, text in changed.items() if text}
    for pointer, aside in asides.items():
        connection.write(aside, f"{changed[pointer]}\n".encode())
    if asides:
        connection.sync(list(asides.values()))
    for pointer, aside in asides.items():
        lock.move(aside, f"{folder}/{pointer}")
    for pointer in changed.keys() - asides.keys():
        lock.drop(f"{folder}/{pointer}")
    connection.sync([folder])


def is_version(name: str) -> bool:
    """Whether a name is one that we give: nothing else is ever removed."""
    return _VERSION.fullmatch(name) is not None


def is_there(connection: Connection, name: str, version: str) -> bool:
    """Whether a version has the list of files that it is named by."""
    return bool(listed(connection, version_folder(connection, name, version), version))


def _is_switching(connection: Connection, name: str) -> bool:
    return connection.read(f"{folder_of(connection, name)}/{SWITCHING}") is not None


def _newest(connection: Connection, name: str) -> list[str]:
    """Every version that has a folder with files, the newest first, as far as the board tells."""
    place = f"{folder_of(connection, name)}/versions"
    found = {path.split("/")[0] for path in connection.sizes(place)}
    told = connection.execute(["ls", "-t", place]).output.decode("ascii", errors="replace").split()
    order = {version: number for number, version in enumerate(told)}
    return sorted((version for version in found if is_version(version)), key=lambda version: (order.get(version, len(order)), version))


def _text(connection: Connection, name: str, pointer: str) -> str:
    return _first_line(connection.read(f"{folder_of(connection, name)}/{pointer}"))


def _first_line(content: bytes | None) -> str:
    return (content or b"")[:200].decode("ascii", errors="replace").strip()


def _carry_out(lock: Lock, name: str, to: Pointers) -> None:
    put(lock, name, {PREVIOUS: to.previous, CURRENT: to.current})
    lock.drop(f"{folder_of(lock.connection, name)}/{SWITCHING}")
