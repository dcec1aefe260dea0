"""Universal binaries of Apple's systems: one file that holds the Mach-O file, or the archive of such files, of each processor."""

from __future__ import annotations

import struct
from collections.abc import Mapping

_MAGIC = 0xCAFEBABE
_ALIGNMENT = 3  # parts begin at multiples of 2 to the power of this, as lipo puts archives of 64-bit objects
# architecture as Apple calls it -> its type and the type within that, as <mach/machine.h> numbers them
PROCESSORS = {"arm64": (0x0100000C, 0), "x86_64": (0x01000007, 3)}


def universal(parts: Mapping[str, bytes]) -> bytes:
    """The parts, each of one architecture, in one file; a single one as it is."""
    if len(parts) == 1:
        return next(iter(parts.values()))
    table = struct.pack(">II", _MAGIC, len(parts))
    place, rows, held = _rounded(len(table) + 20 * len(parts)), [], []
    for architecture, content in parts.items():
        rows.append(struct.pack(">IIIII", *PROCESSORS[architecture], place, len(content), _ALIGNMENT))
        held.append(content.ljust(_rounded(len(content)), b"\0"))
        place += len(held[-1])
    held[-1] = held[-1][: len(content)]
    return b"".join((table, *rows)).ljust(_rounded(len(table) + 20 * len(parts)), b"\0") + b"".join(held)


def _rounded(count: int) -> int:
    return -(-count // (1 << _ALIGNMENT)) << _ALIGNMENT
