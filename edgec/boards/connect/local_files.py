"""Files on this machine: written aside and put in place at once, so that nobody ever sees half of one."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from edgec.boards.connect.connection import Sent
from edgec.boards.connect.trouble import ONE_DISK

CHUNK = 1 << 20  # bytes at once, between two words of progress
_BINARY = getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)

_HINTS: Mapping[int, str] = {
    errno.ENOSPC: "free some space on the board, or give it another `work` folder",
    errno.EDQUOT: "free some space on the board, or give it another `work` folder",
    errno.EROFS: "give the board a `work` folder that can be written",
    errno.EACCES: "give the board a `work` folder that its user may write",
    errno.EPERM: "give the board a `work` folder that its user may write",
    errno.ENOENT: "the folder does not exist on the board",
    errno.EXDEV: ONE_DISK,
}
_REASONS: Mapping[int, str] = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EROFS: "the folder is read-only",
    errno.EXDEV: "it lies on another disk",
}


def reason(error: OSError) -> str:
    """What went wrong, in words."""
    return _REASONS.get(error.errno or 0, (error.strerror or str(error)).lower())


def hint(error: OSError) -> str:
    """The next step."""
    return _HINTS.get(error.errno or 0, "look at the board's `work` folder")


def write_file(path: Path, data: bytes, mode: int, sent: Sent | None) -> None:
    """The whole file or none of it: written aside, then renamed."""
    aside = _write_aside(path, data, mode, sent)
    try:
        os.replace(aside, path)
    except OSError:
        aside.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def continue_file(path: Path, data: bytes, mode: int, sent: Sent | None) -> None:
    """Append to what is there already when it begins `data`; else write it anew. What could be written stays when that fails."""
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | _NO_LINK | _BINARY, mode)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        path.unlink()
        return continue_file(path, data, mode, sent)
    with os.fdopen(number, "r+b", buffering=0) as file:
        size = os.fstat(number).st_size
        start = size if size <= len(data) and file.readall() == data[:size] else 0
        file.truncate(start)
        file.seek(start)
        _append(number, data, start, sent)
    os.chmod(path, mode)
    return None


def read_file(path: Path, most: int) -> bytes | None:
    """At most `most` + 1 bytes of it; None when there is none."""
    try:
        found = bytearray()
        with path.open("rb") as file:
            while len(found) <= most and (piece := file.read(CHUNK)):  # a kernel's own files take no large buffer
                found += piece
        return bytes(found[: most + 1])
    except (FileNotFoundError, NotADirectoryError):
        return None


def make_folder(base: Path, path: str) -> None:
    """Folders below one that must be there."""
    for part in PurePosixPath(path).parts:
        base = base / part
        with suppress(FileExistsError):
            base.mkdir()


def move(old: Path, new: Path) -> None:
    """rename(2); an existing file `new` is replaced."""
    os.replace(old, new)


def sync(paths: Iterable[Path]) -> None:
    """fsync(2) of files and folders. Where one may not be opened, the whole disk is synchronized."""
    for path in paths:
        try:
            _sync(path)
        except PermissionError:
            if os.name == "posix":
                os.sync()


def remove(path: Path) -> None:
    """A file, a link (not what it leads to) or a whole folder; none is fine."""
    with suppress(FileNotFoundError, NotADirectoryError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def sizes(path: Path) -> dict[str, int]:
    """Bytes of every regular file below a folder, by path relative to it; links are neither counted nor followed."""
    found = {}
    for folder, _, names in os.walk(path):
        for name in names:
            file = Path(folder, name)
            with suppress(FileNotFoundError):  # removed while we look
                if file.is_file() and not file.is_symlink():
                    found[file.relative_to(path).as_posix()] = file.stat().st_size
    return found


def _write_aside(path: Path, data: bytes, mode: int, sent: Sent | None = None) -> Path:
    """A new file beside `path` with the whole content, on the disk; nothing stays when that fails."""
    aside = path.with_name(f".{secrets.token_hex(8)}.part")
    number = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, mode)
    try:
        try:
            _append(number, data, 0, sent)
        finally:
            os.close(number)
        os.chmod(aside, mode)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    return aside


def _append(number: int, data: bytes, start: int, sent: Sent | None) -> None:
    left = memoryview(data)[start:]
    if sent is not None and start:
        sent(start)
    while left:
        left = left[os.write(number, left[:CHUNK]) :]
        if sent is not None:
            sent(len(data) - len(left))
    os.fsync(number)


def _sync(path: Path) -> None:
    """Windows has no such call for folders, and wants a file that may be written."""
    if os.name == "posix" or path.is_file():
        number = os.open(path, os.O_RDONLY if os.name == "posix" else os.O_RDWR)
        try:
            os.fsync(number)
        finally:
            os.close(number)
