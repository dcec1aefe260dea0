"""A package that failed its exam and was kept for a report, beside the place that it was meant for."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from edgec.base.errors import UsageError
from edgec.base.output.files import cannot_write, umask
from edgec.base.output.foreign import MARKER

FAILED = "FAILED.txt"  # in such a package: what was wrong


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
        place.chmod(0o777 & ~umask())
        (place / MARKER).rename(place / f"{MARKER}.failed")
        (place / FAILED).write_text(f"{words}\n", encoding="utf-8")
    except OSError as error:
        raise cannot_write(error, place) from error
    return place


def check_failed(destination: Path) -> None:
    """UsageError when a failed package could not be kept beside `destination`."""
    place = failed_beside(destination)
    if os.path.lexists(place) and (place.is_symlink() or not (place / FAILED).is_file()):
        raise UsageError("exists and is not a failed package", where=str(place), hint="move it away, or leave --keep-failed out")
