"""What in a package edgec wrote, by the package's own lists, and what others put there, which a new package keeps."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from hashlib import file_digest
from pathlib import Path
from typing import Any

from edgec.base.errors import Problem

MARKER = "manifest.json"
BUILT = "build.json"  # the list of what was compiled
BESIDE = (MARKER, BUILT, "manifest.sig")
SIGNATURE = "edgec_version"  # the key by which a manifest is known to be ours
LARGEST = 1 << 26  # bytes of such a list
MADE = "build"  # what compilers leave in a package


def is_package(folder: Path) -> bool:
    return SIGNATURE in _facts(folder / MARKER)


def lost(package: Path, inputs: Iterable[Path]) -> Iterator[Problem]:
    """What a new package in this place would take away: inputs of its own build, what was changed by hand, what cannot be copied."""
    ours, read = _written(package), [path.resolve() for path in inputs]
    for name, digest in sorted(ours.items()):
        path = package / name
        if path.resolve() in read:
            yield Problem("is an input: it would be overwritten", name)
        elif digest and path.is_file() and _digest(path) != digest:
            yield Problem("was changed since edgec wrote it", name)
    for name in foreign(package):
        if not any(is_kind(package / name) for is_kind in (Path.is_symlink, Path.is_file, Path.is_dir)):
            yield Problem("is no file, link or folder", name)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def in_the_way(old: Path, new: Path) -> list[Problem]:
    """What others put into the old package where the new one has something else. Files of compilers come again under the same names."""
    return [Problem("is where the new package has a file", name) for name in foreign(old) if _collide(old / name, new / name, new)]


def keep_foreign(old: Path, new: Path) -> None:
    """Copy what others put into the old package to the new one, but for what is in the way."""
    for name in foreign(old):
        if os.path.lexists(new / name) or _blocked(new / name, new):
            continue
        (new / name).parent.mkdir(parents=True, exist_ok=True)
        if _is_folder(old / name):
            (new / name).mkdir()
        else:
            shutil.copy2(old / name, new / name, follow_symlinks=False)


def foreign(package: Path) -> list[str]:
    """What others put there: files, links, and folders with nothing in them. A link where edgec wrote a file is not edgec's."""
    ours, found = _written(package), []
    for place, folders, files in os.walk(package):
        inner = [Path(place, name) for name in folders]
        found += [Path(place, name) for name in files]
        found += [path for path in inner if path.is_symlink() or not any(path.iterdir())]
    names = {path.relative_to(package).as_posix(): path for path in found}
    return sorted(name for name, path in names.items() if name not in ours or path.is_symlink() or path.is_dir())


def _collide(old: Path, new: Path, package: Path) -> bool:
    made_again = new.relative_to(package).parts[0] == MADE and old.is_file() and not old.is_symlink() and not _is_folder(new)
    both_folders = _is_folder(old) and _is_folder(new)
    return _blocked(new, package) or (os.path.lexists(new) and not both_folders and not made_again)


def _blocked(new: Path, package: Path) -> bool:
    """Whether the new package has a file where this one needs a folder."""
    above = [part for part in new.parents if part.is_relative_to(package)]
    return any(os.path.lexists(part) and not _is_folder(part) for part in above)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _written(package: Path) -> dict[str, str]:
    """What edgec wrote there: path -> its hash, or nothing for what is compiled, which may be compiled again by hand."""
    manifest, compiled = _facts(package / MARKER), _facts(package / BUILT)
    rows = manifest.get("files")
    hashes = {path: row.get("sha256", "") if isinstance(row, dict) else "" for path, row in rows.items()} if isinstance(rows, dict) else {}
    return dict.fromkeys((*BESIDE, *_paths(manifest.get("made")), *_paths(compiled.get("files"))), "") | hashes


def _paths(listed: object) -> list[str]:
    return [path for path in listed if isinstance(path, str)] if isinstance(listed, (dict, list)) else []


def _facts(path: Path) -> Mapping[str, Any]:
    """An object in a file; nothing where there is none, or where the file is none that edgec writes: a pipe, a device, far too much."""
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return {}
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
