"""Writing results so that nothing is ever half there: a directory or file appears complete, or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from edgec.errors import UsageError

MARKER = "manifest.json"


@contextmanager
def complete_directory(destination: Path, files: Mapping[str, bytes]) -> Iterator[Path]:
    """Write `files` into a temporary neighbour, let the caller finish it, then move it to `destination`.

    A package that is already there is replaced; anything else that is there is left alone (UsageError).
    """
    if destination.exists() and not (destination / MARKER).is_file() and (not destination.is_dir() or any(destination.iterdir())):
        raise UsageError("exists and is not an edgec package", where=str(destination), hint="choose another --out")
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{destination.name}.", dir=destination.parent))
    except OSError as error:
        raise UsageError(f"cannot write: {error.strerror}", where=str(destination), hint="choose another --out") from error
    try:
        _write_all(temporary, files)
        yield temporary
        temporary.chmod(0o755)
        _swap(temporary, destination)
    except OSError as error:
        raise UsageError(
            f"cannot write: {error.strerror}", where=str(destination), hint="free some space or choose another --out"
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _write_all(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _swap(new: Path, destination: Path) -> None:
    """Put `new` in the place of `destination`; the old one comes back when that fails."""
    if not destination.exists():
        new.rename(destination)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{destination.name}.old.", dir=destination.parent))
    destination.rename(old / "package")
    try:
        new.rename(destination)
    except OSError:
        (old / "package").rename(destination)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def write_file(destination: Path, content: bytes) -> None:
    """Write a file through a temporary neighbour."""
    try:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=destination.parent, delete=False) as stream:
            stream.write(content)
        Path(stream.name).chmod(0o644)
        Path(stream.name).replace(destination)
    except OSError as error:
        raise UsageError(f"cannot write: {error.strerror}", where=str(destination), hint="choose another path") from error
