"""What a package consists of: every file with its size and sha256; what was emitted in the manifest, what was compiled in build.json."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from edgec.errors import Problem
from edgec.package.codec import encode
from edgec.package.manifest import SCHEMA_VERSION, Version
from edgec.package.parts import File
from edgec.package.words import BUILD, MANIFEST
from edgec.package.words import Path as FilePath

_CHUNK = 1 << 20


@dataclass(frozen=True)
class Listing:
    """build.json."""

    schema_version: Version
    files: Mapping[FilePath, File]


@dataclass(frozen=True)
class Found:
    """A file of a folder. kind: file, link, or other (a pipe, a device)."""

    path: str  # below the folder, `/` between its parts
    place: Path
    kind: str
    bytes: int


def walk(folder: Path) -> list[Found]:
    """Everything below a folder that is no folder itself, in the order of paths; links are found, never followed."""
    found, waiting = [], [("", folder)]
    while waiting:
        before, place = waiting.pop()
        for entry in os.scandir(place):
            facts, path = entry.stat(follow_symlinks=False), f"{before}{entry.name}"
            if stat.S_ISDIR(facts.st_mode):
                waiting.append((f"{path}/", Path(entry.path)))
            else:
                kind = "file" if stat.S_ISREG(facts.st_mode) else "link" if stat.S_ISLNK(facts.st_mode) else "other"
                found.append(Found(path, Path(entry.path), kind, facts.st_size))
    return sorted(found, key=lambda item: item.path)


def sha256_of(place: Path) -> str:
    digest = hashlib.sha256()
    with place.open("rb") as stream:
        while block := stream.read(_CHUNK):
            digest.update(block)
    return digest.hexdigest()


def list_build(folder: Path, emitted: Iterable[str]) -> bytes:
    """build.json of a package that was just compiled: every file in it that was not emitted."""
    known = {MANIFEST, BUILD, *emitted}
    made = {found.path: File(found.bytes, sha256_of(found.place)) for found in walk(folder) if found.path not in known}
    return (json.dumps(encode(Listing(SCHEMA_VERSION, made)), indent=1) + "\n").encode()


def compared(found: Found, row: File) -> Problem | None:
    """What is wrong with a file that a list has."""
    if found.kind != "file":
        return Problem("is a link" if found.kind == "link" else "is no regular file", found.path)
    if found.bytes != row.bytes:
        return Problem(f"has {found.bytes} bytes, must have {row.bytes}", found.path)
    try:
        return None if sha256_of(found.place) == row.sha256 else Problem("was changed", found.path)
    except OSError as error:
        return Problem(f"cannot read: {error.strerror}", found.path)
