"""What a shared library asks of the system that loads it, read from its ELF file."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_LOAD, _DYNAMIC = 1, 2
_NEEDED, _HASH, _SYMTAB, _VERNEED = 1, 4, 6, 0x6FFFFFFE
_WEAK = 2
_ENTRY = {32: "<iI", 64: "<qQ"}  # of the dynamic section
_SYMBOL_BYTES = {32: 16, 64: 24}


@dataclass(frozen=True)
class Demands:
    """bits, machine: as ELF numbers them. libraries: how many must be loaded first. versions: whether symbols are of a certain
    version of a library. symbols: how many must exist elsewhere (weak ones need not)."""

    bits: int
    machine: int
    flags: int
    libraries: int
    versions: bool
    symbols: int

    @property
    def none(self) -> bool:
        """Whether any C library, of any age, loads it."""
        return not (self.libraries or self.versions or self.symbols)


def demands(data: bytes) -> Demands:
    """ValueError where this is not a little-endian shared library, or lacks the older table of symbols, which tells their number."""
    if data[:4] != b"\x7fELF" or data[5] != 1:
        raise ValueError("not a little-endian ELF file")
    bits = {1: 32, 2: 64}[data[4]]
    try:
        entries = list(_dynamic(data, bits))
        values = dict(entries)
        return Demands(
            bits,
            struct.unpack_from("<H", data, 18)[0],
            struct.unpack_from("<I", data, 48 if bits == 64 else 36)[0],
            sum(tag == _NEEDED for tag, _ in entries),
            _VERNEED in values,
            _undefined(data, bits, values),
        )
    except (struct.error, KeyError) as error:
        raise ValueError("not a shared library with the older table of symbols") from error


def _segments(data: bytes, bits: int) -> list[tuple[int, int, int, int]]:
    """Kind, offset, address and bytes in the file."""
    table = struct.unpack_from("<Q" if bits == 64 else "<I", data, 32 if bits == 64 else 28)[0]
    size, count = struct.unpack_from("<HH", data, 54 if bits == 64 else 42)
    found = []
    for index in range(count):
        row = struct.unpack_from("<IIQQQQ" if bits == 64 else "<5I", data, table + index * size)
        found.append((row[0], row[2], row[3], row[5]) if bits == 64 else (row[0], row[1], row[2], row[4]))
    return found


def _dynamic(data: bytes, bits: int) -> list[tuple[int, int]]:
    kind = {kind: (offset, count) for kind, offset, _, count in _segments(data, bits)}
    offset, count = kind[_DYNAMIC]
    entries = list(struct.iter_unpack(_ENTRY[bits], data[offset : offset + count]))
    return [(tag, value) for tag, value in entries if tag]


def _undefined(data: bytes, bits: int, values: dict[int, int]) -> int:
    """How many symbols are not weak and not here. The older hash table tells how many symbols there are."""
    table, hashes = (_offset(data, bits, values[tag]) for tag in (_SYMTAB, _HASH))
    count, found = struct.unpack_from("<II", data, hashes)[1], 0
    for index in range(1, count):
        at = table + index * _SYMBOL_BYTES[bits]
        (kind,) = struct.unpack_from("<B", data, at + (4 if bits == 64 else 12))
        (section,) = struct.unpack_from("<H", data, at + (6 if bits == 64 else 14))
        found += section == 0 and kind >> 4 != _WEAK
    return found


def _offset(data: bytes, bits: int, address: int) -> int:
    for kind, offset, start, count in _segments(data, bits):
        if kind == _LOAD and start <= address < start + count:
            return offset + address - start
    raise ValueError("a table lies outside of the file")


_ALLOCATED, _WRITTEN, _PROGRAM, _UNWINDING = 2, 1, 1, 0x70000001  # of sections


def memory_of(data: bytes) -> tuple[int, int]:
    """Bytes of an object's code and constants, and of its variables. ValueError where it is no 32-bit little-endian ELF file."""
    if data[:6] != b"\x7fELF\x01\x01":
        raise ValueError("not a little-endian ELF file of 32 bits")
    table, (size, count) = struct.unpack_from("<I", data, 32)[0], struct.unpack_from("<HH", data, 46)
    rows = [struct.unpack_from("<6I", data, table + index * size) for index in range(count)]
    loaded = [(flags & _WRITTEN, kind, length) for _, kind, flags, _, _, length in rows if flags & _ALLOCATED and kind != _UNWINDING]
    flash = sum(length for written, kind, length in loaded if kind == _PROGRAM)
    return flash, sum(length for written, _, length in loaded if written)
