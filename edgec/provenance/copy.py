"""A package that cannot change any more: a copy of what was verified, in a folder that nobody else may enter."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from edgec.base.errors import GateError, Problem
from edgec.package.parts import File
from edgec.provenance.verify import verify_package

_CHUNK = 1 << 20
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


@contextmanager
def verified_copy(package: Path, key: Path) -> Iterator[Path]:
    """A folder with exactly the bytes that the key signed, whatever becomes of `package` meanwhile. Errors are those of verify_package."""
    found = verify_package(package, key)
    with TemporaryDirectory(prefix="edgec-verified-") as folder:
        copy = Path(folder) / "package"
        copy.mkdir()
        for path, row in found.rows.items():
            _copy(package, path, row, copy / path)
        for name, text in found.texts.items():
            (copy / name).write_bytes(text)
        yield copy


def _copy(package: Path, path: str, row: File, place: Path) -> None:
    """GateError unless the bytes that are copied are those of the list."""
    place.parent.mkdir(parents=True, exist_ok=True)
    digest, left = hashlib.sha256(), row.bytes
    try:
        with os.fdopen(os.open(package / path, _FLAGS), "rb") as source, place.open("xb") as target:
            if not stat.S_ISREG(os.fstat(source.fileno()).st_mode):
                raise OSError("is no regular file")
            while block := source.read(min(_CHUNK, left)):
                digest.update(block)
                target.write(block)
                left -= len(block)
        place.chmod(0o700 if row.executable else 0o600)
    except OSError as error:
        raise _changed(package, path, str(error.strerror or error)) from error
    if left or digest.hexdigest() != row.sha256:
        raise _changed(package, path, "was changed")


def _changed(package: Path, path: str, what: str) -> GateError:
    hint = "do not use it; find out who changes it"
    return GateError("the package changes while it is read", [Problem(what, path)], where=str(package), hint=hint)
