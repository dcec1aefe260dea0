"""sha256 of files, computed on the board by whichever program it has."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from edgec.boards.connect.connection import Answer, Connection

# tried in this order; each prints a line a file that begins with the hash
_PROGRAMS = (
    ("sha256sum",),
    ("shasum", "-a", "256"),
    ("busybox", "sha256sum"),
    ("toybox", "sha256sum"),
    ("openssl", "dgst", "-sha256", "-r"),
)
_LINE = re.compile(r"\\?([0-9a-f]{64})\b.*")
_SLOWEST = 2_000_000  # bytes a second that any board hashes


def checksums(connection: Connection, files: Mapping[str, int]) -> dict[str, str]:
    """sha256 by path of files that exist, whose sizes in bytes are given. Without a program for it they are read back and hashed here."""
    if not files:
        return {}
    paths = sorted(files)
    seconds = connection.device.limits.command + sum(files.values()) / _SLOWEST
    for program in _PROGRAMS:
        answer = connection.execute([*program, *paths], seconds=seconds)
        hashes = _hashes(answer, len(paths))
        if hashes:
            return dict(zip(paths, hashes, strict=True))
    return {path: hashlib.sha256(connection.read(path) or b"").hexdigest() for path in paths}


def _hashes(answer: Answer, count: int) -> list[str]:
    """One for each file, in the order of the command; [] when the program did not do its work."""
    lines = answer.output.decode("ascii", errors="replace").splitlines()
    found = [match[1] for match in map(_LINE.fullmatch, lines) if match]
    return found if answer.status == 0 and len(found) == len(lines) == count else []
