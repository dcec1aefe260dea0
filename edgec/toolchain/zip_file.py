"""Zip archives whose bytes depend on the files alone."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

EPOCH = (1980, 1, 1, 0, 0, 0)  # the first that a zip can hold
_UNIX, _MODE = 3, 0o100644 << 16


def archived(files: Mapping[str, bytes | memoryview]) -> bytes:
    """Path -> content as an archive, in the order given, all of one time and one mode."""
    stream = BytesIO()
    with ZipFile(stream, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        for path, content in files.items():
            entry = ZipInfo(path, EPOCH)
            entry.create_system, entry.external_attr = _UNIX, _MODE  # whatever this machine is
            archive.writestr(entry, content, ZIP_DEFLATED, 9)
    return stream.getvalue()
