"""What a board has of one package, at one look."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from posixpath import dirname

from edgec.boards.connect.peek import peek
from edgec.boards.deploy.counter import HIGHEST
from edgec.boards.deploy.lock import Lock
from edgec.boards.deploy.parcel import LISTING
from edgec.boards.deploy.proof import listed_in
from edgec.boards.deploy.versions import (
    CURRENT,
    PREVIOUS,
    SWITCHING,
    Pointers,
    folder_of,
    incoming_folder,
    is_there,
    left_folder,
    pointers_in,
    version_folder,
)


@dataclass(frozen=True)
class Survey:
    """is_settled: no switch was interrupted, and what is in use, if anything ever was, is there. highest: what the file of that name holds.

    versions: bytes of every file of every version, by path below `versions`. uploads: the versions of which something arrived, by the
    folder that has them.
    """

    pointers: Pointers
    is_settled: bool
    highest: bytes | None
    versions: Mapping[str, int]
    uploads: Mapping[str, frozenset[str]]

    def sizes(self, version: str) -> dict[str, int]:
        """Of a version's files."""
        start = f"{version}/"
        return {path.removeprefix(start): size for path, size in self.versions.items() if path.startswith(start)}


def survey(lock: Lock, name: str, version: str) -> Survey:
    """version: the one that is most likely in use; should it be another, that costs a look more."""
    connection, home = lock.connection, folder_of(lock.connection, name)
    places = {pointer: f"{home}/{pointer}" for pointer in (SWITCHING, CURRENT, PREVIOUS, HIGHEST)}
    listing = f"{version_folder(connection, name, version)}/{LISTING}"
    arriving = [dirname(kind(lock, name, version)) for kind in (incoming_folder, left_folder)]
    sight = peek(connection, [f"{home}/versions", *arriving], [*places.values(), listing])
    held = {pointer: sight.files[path] for pointer, path in places.items()}
    found = pointers_in(held.get)
    if found.current == version:
        there = bool(listed_in(sight.files[listing] or b"", version))
    else:
        there = found.current is not None and is_there(connection, name, found.current)
    unused = held[CURRENT] is None and held[PREVIOUS] is None
    uploads = {folder: frozenset(path.split("/")[0] for path in sight.sizes[folder]) for folder in arriving}
    return Survey(found, held[SWITCHING] is None and (unused or there), held[HIGHEST], sight.sizes[f"{home}/versions"], uploads)
