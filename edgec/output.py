"""Writing results so that nothing is ever half there: a directory or file appears complete, or not at all."""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from edgec.errors import EdgecError, UsageError

MARKER = "manifest.json"
BUILT = "build.json"  # the list of what was compiled
BESIDE = (MARKER, BUILT, "manifest.sig")
SIGNATURE = "edgec_version"  # the key by which a manifest is known to be ours
MADE = "build"  # what compilers leave in a package
FAILED = "FAILED.txt"  # in a package that failed its exam and was kept: what was wrong
FULL = 1024 * 1024  # a disk with fewer free bytes is the reason why a compiler failed


def check_destination(destination: Path) -> None:
    """UsageError when a package cannot be put there: something else is there already, or nobody may write there."""
    if os.path.lexists(destination) and not _is_package(destination) and (not destination.is_dir() or any(destination.iterdir())):
        raise UsageError("exists and is not an edgec package", where=str(destination), hint="choose another --out")
    parent = next(folder for folder in destination.absolute().parents if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise UsageError("cannot write: no folder that you may write to", where=str(parent), hint="choose another --out")


def _is_package(folder: Path) -> bool:
    return SIGNATURE in _manifest(folder)


def _manifest(folder: Path, name: str = MARKER) -> dict[str, Any]:
    try:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


@contextmanager
def complete_directory(destination: Path, files: Mapping[str, bytes]) -> Iterator[Path]:
    """Write `files` into a temporary neighbour, let the caller finish it, then move it to `destination`.

    A package that is already there is replaced, but files in it that edgec did not write are kept; anything else that is there is left
    alone (UsageError).
    """
    check_destination(destination)
    destination = destination.resolve()
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{destination.name}.", dir=destination.parent))
    except OSError as error:
        raise _cannot_write(error, destination) from error
    try:
        _write_all(temporary, files)
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        _keep_foreign(destination, temporary)
        _swap(temporary, destination)
    except OSError as error:
        raise _cannot_write(error, destination) from error
    except EdgecError as error:
        if shutil.disk_usage(destination.parent).free < FULL:
            hint = "free some, or choose another --out"
            raise UsageError("no space left on the disk", error.problems, where=str(destination), hint=hint) from error
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _cannot_write(error: OSError, destination: Path) -> UsageError:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    hint = "free some space, or write elsewhere" if full else "write elsewhere"
    return UsageError(f"cannot write: {error.strerror or error}", where=str(destination), hint=hint)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _keep_foreign(old: Path, new: Path) -> None:
    """Copy what others put into the old package to the new one."""
    if not old.is_dir():
        return
    ours = {*BESIDE, *_paths(_manifest(old), "files"), *_paths(_manifest(old), "made"), *_paths(_manifest(old, BUILT), "files")}
    for path in sorted(old.rglob("*")):
        name = path.relative_to(old)
        if not path.is_dir() and name.parts[0] != MADE and name.as_posix() not in ours and not (new / name).exists():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, new / name, follow_symlinks=False)


def _paths(facts: Mapping[str, Any], key: str) -> list[str]:
    """What a list of a package names; nothing where it is none."""
    listed = facts.get(key)
    return [path for path in listed if isinstance(path, str)] if isinstance(listed, (dict, list)) else []


def _swap(new: Path, destination: Path) -> None:
    """Put `new` in the place of `destination`; the old one comes back when that fails or is interrupted."""
    if not destination.exists():
        new.rename(destination)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{destination.name}.old.", dir=destination.parent))
    try:
        destination.rename(old / "package")
        new.rename(destination)
    finally:
        if not destination.exists():
            (old / "package").rename(destination)
        shutil.rmtree(old, ignore_errors=True)


def failed_beside(destination: Path) -> Path:
    """Where a package that was meant for `destination` and failed is kept."""
    return destination.with_name(f"{destination.name}.failed")


def keep_aside(folder: Path, destination: Path, words: str) -> Path:
    """Copy a package in the making that failed to failed_beside(destination), marked: `words` in FAILED.txt, and no manifest.json, so that
    nobody takes it for a package. One that was kept before is replaced."""
    place = failed_beside(destination.resolve())
    try:
        shutil.rmtree(place, ignore_errors=not place.exists())
        shutil.copytree(folder, place, symlinks=True)
        place.chmod(0o777 & ~_umask())
        (place / MARKER).rename(place / f"{MARKER}.failed")
        (place / FAILED).write_text(f"{words}\n", encoding="utf-8")
    except OSError as error:
        raise _cannot_write(error, place) from error
    return place


def check_failed(destination: Path) -> None:
    """UsageError when a failed package could not be kept beside `destination`."""
    place = failed_beside(destination)
    if os.path.lexists(place) and (place.is_symlink() or not (place / FAILED).is_file()):
        raise UsageError("exists and is not a failed package", where=str(place), hint="move it away, or leave --keep-failed out")


def write_file(destination: Path, content: bytes) -> None:
    """Write a file through a temporary neighbour."""
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        stream = tempfile.NamedTemporaryFile(prefix=f".{destination.name}.", dir=destination.parent, delete=False)  # noqa: SIM115
    except OSError as error:
        raise _cannot_write(error, destination) from error
    temporary = Path(stream.name)
    try:
        with stream:
            stream.write(content)
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(destination)
    except OSError as error:
        raise _cannot_write(error, destination) from error
    finally:
        temporary.unlink(missing_ok=True)
