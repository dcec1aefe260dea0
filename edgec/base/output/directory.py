"""Packages: each appears complete or not at all, and takes the place of another one only as far as edgec wrote that."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from edgec.base.errors import EdgecError, Problem, UsageError
from edgec.base.output.files import cannot_write, umask
from edgec.base.output.foreign import in_the_way, is_package, keep_foreign, lost

FULL = 1024 * 1024  # a disk with fewer free bytes is the reason why a compiler failed


def check_destination(destination: Path, inputs: Iterable[Path] = (), *, force: bool = False) -> None:
    """UsageError when a package cannot be put there: something else is there already, or nobody may write there; or, unless forced, the
    package that is there has inputs of the new one among its own files, or files that were changed since edgec wrote them."""
    ours = is_package(destination)
    if os.path.lexists(destination) and not ours and (not destination.is_dir() or any(destination.iterdir())):
        raise UsageError("exists and is not an edgec package", where=str(destination), hint="choose another --out")
    parent = next(folder for folder in destination.absolute().parents if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise UsageError("cannot write: no folder that you may write to", where=str(parent), hint="choose another --out")
    if ours and not force:
        _refuse(destination, list(lost(destination, inputs)))


def _refuse(destination: Path, problems: list[Problem]) -> None:
    if problems:
        hint = "move these away, choose another --out, or give --force"
        raise UsageError("a new package here would take what is not edgec's", problems, where=str(destination), hint=hint)


@contextmanager
def complete_directory(destination: Path, files: Mapping[str, bytes | memoryview], *, force: bool = False) -> Iterator[Path]:
    """Write `files` into a temporary neighbour, let the caller finish it, then move it to `destination`.

    A package that is already there is replaced, and what others put into it is kept; UsageError where that is in the way of something new,
    unless forced. Anything else that is there is left alone (UsageError).
    """
    check_destination(destination, force=force)
    destination = destination.resolve()
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{destination.name}.", dir=destination.parent))
    except OSError as error:
        raise cannot_write(error, destination) from error
    try:
        _write_all(temporary, files)
        if not force:
            _refuse(destination, in_the_way(destination, temporary))
        yield temporary
        temporary.chmod(0o777 & ~umask())
        if not force:
            _refuse(destination, in_the_way(destination, temporary))
        keep_foreign(destination, temporary)
        _swap(temporary, destination)
    except OSError as error:
        raise cannot_write(error, destination) from error
    except EdgecError as error:
        if shutil.disk_usage(destination.parent).free < FULL:
            hint = "free some, or choose another --out"
            raise UsageError("no space left on the disk", error.problems, where=str(destination), hint=hint) from error
        raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_all(folder: Path, files: Mapping[str, bytes | memoryview]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


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
