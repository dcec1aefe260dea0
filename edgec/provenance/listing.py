"""What a package consists of: every file with its size and sha256; what was emitted in the manifest, what was compiled in build.json."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from edgec.base.codec import encode
from edgec.base.errors import Problem
from edgec.package.manifest import SCHEMA_VERSION, Version
from edgec.package.parts import File
from edgec.package.single_values import BUILD, MANIFEST
from edgec.package.single_values import Path as FilePath

_CHUNK = 1 << 20
_POSIX = os.name == "posix"  # elsewhere the system makes modes up
_EXECUTE = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH if _POSIX else 0
_SPECIAL = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX if _POSIX else 0
_ANYBODY = stat.S_IWOTH if _POSIX else 0
_KINDS = {stat.S_ISREG: "file", stat.S_ISLNK: "link", stat.S_ISDIR: "folder"}


@dataclass(frozen=True)
class Listing:
    """build.json."""

    schema_version: Version
    files: Mapping[FilePath, File]


@dataclass(frozen=True)
class Found:
    """What lies in a folder. kind: file, link, folder, or other (a pipe, a device). mode: its permissions and special bits."""

    path: str  # below the folder, `/` between its parts; "." for the folder itself
    place: Path
    kind: str
    bytes: int
    mode: int

    @property
    def is_program(self) -> bool:
        return self.kind == "file" and bool(self.mode & _EXECUTE)


def walk(folder: Path) -> list[Found]:
    """The folder and everything below it, in the order of paths; links are found, never followed."""
    found, waiting = [_found(".", folder)], [("", folder)]
    while waiting:
        before, place = waiting.pop()
        for entry in os.scandir(place):
            item = _found(f"{before}{entry.name}", Path(entry.path))
            found.append(item)
            if item.kind == "folder":
                waiting.append((f"{item.path}/", item.place))
    return sorted(found, key=lambda item: item.path)


def _found(path: str, place: Path) -> Found:
    facts = place.stat(follow_symlinks=path == ".")
    kind = next((name for test, name in _KINDS.items() if test(facts.st_mode)), "other")
    return Found(path, place, kind, facts.st_size, stat.S_IMODE(facts.st_mode))


def sha256_of(place: Path) -> str:
    digest = hashlib.sha256()
    with place.open("rb") as stream:
        while block := stream.read(_CHUNK):
            digest.update(block)
    return digest.hexdigest()


def list_build(folder: Path, emitted: Iterable[str]) -> bytes:
    """build.json of a package that was just compiled: every file in it that was not emitted."""
    known = {MANIFEST, BUILD, *emitted}
    there = [found for found in walk(folder) if found.kind != "folder" and found.path not in known]
    made = {found.path: File(found.bytes, sha256_of(found.place), found.is_program or None) for found in there}
    return (json.dumps(encode(Listing(SCHEMA_VERSION, made)), indent=1) + "\n").encode()


def compared(found: Found, row: File) -> Problem | None:
    """What is wrong with a file that a list has."""
    if found.kind != "file":
        return Problem("is a link" if found.kind == "link" else "is no regular file", found.path)
    if found.bytes != row.bytes:
        return Problem(f"has {found.bytes} bytes, must have {row.bytes}", found.path)
    if _POSIX and found.is_program > bool(row.executable):
        return Problem(f"can be started as a program (mode {found.mode:04o})", found.path, f"chmod a-x {found.path}")
    try:
        return None if sha256_of(found.place) == row.sha256 else Problem("was changed", found.path)
    except OSError as error:
        return Problem(f"cannot read: {error.strerror}", found.path)


def unsafe(found: Found) -> Problem | None:
    """What is wrong with the permissions of anything in a package. The bit that hands a folder's group on is its system's matter."""
    special = _SPECIAL & ~stat.S_ISGID if found.kind == "folder" else _SPECIAL
    if found.kind != "link" and found.mode & special:
        return Problem(f"has special bits (mode {found.mode:04o})", found.path, "remove them: chmod ug-s,-t")
    if found.kind != "link" and found.mode & _ANYBODY:
        return Problem(f"anybody may change it (mode {found.mode:04o})", found.path, "chmod o-w")
    return None
