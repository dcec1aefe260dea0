"""What a shared library says of itself: a reader of ELF files, for the facts that loaders look at."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

LOAD, DYNAMIC, GNU_STACK, GNU_RELRO = 1, 2, 0x6474E551, 0x6474E552
NEEDED, STRTAB, SYMTAB, SONAME, RPATH, TEXTREL, FLAGS, RUNPATH, HASH = 1, 5, 6, 14, 15, 22, 30, 29, 4
DF_TEXTREL, DF_BIND_NOW = 4, 8
EXECUTABLE = 1


@dataclass(frozen=True)
class Segment:
    kind: int
    flags: int
    offset: int
    address: int
    file_bytes: int
    bytes: int
    alignment: int


@dataclass(frozen=True)
class Symbol:
    name: str
    weak: bool
    defined: bool


class Elf:
    """A little-endian ELF file of 32 or 64 bits."""

    def __init__(self, data: bytes) -> None:
        assert data[:4] == b"\x7fELF" and data[5] == 1, "not a little-endian ELF file"
        self.data = data
        self.bits = {1: 32, 2: 64}[data[4]]
        self.type, self.machine = struct.unpack_from("<HH", data, 16)

    @cached_property
    def flags(self) -> int:
        return int(struct.unpack_from("<I", self.data, 48 if self.bits == 64 else 36)[0])

    @cached_property
    def segments(self) -> list[Segment]:
        table, size, count = self._tables()
        rows = [struct.unpack_from("<IIQQQQQQ" if self.bits == 64 else "<8I", self.data, table + index * size) for index in range(count)]
        if self.bits == 64:
            return [Segment(kind, flags, at, address, held, whole, align) for kind, flags, at, address, _, held, whole, align in rows]
        return [Segment(kind, flags, at, address, held, whole, align) for kind, at, address, _, held, whole, flags, align in rows]

    def of(self, kind: int) -> list[Segment]:
        return [segment for segment in self.segments if segment.kind == kind]

    @cached_property
    def dynamic(self) -> list[tuple[int, int]]:
        """(tag, value) of every entry that loaders read."""
        (segment,) = self.of(DYNAMIC)
        entry = "<qQ" if self.bits == 64 else "<iI"
        pairs = list(struct.iter_unpack(entry, self.data[segment.offset : segment.offset + segment.file_bytes]))
        return pairs[: next(index for index, (tag, _) in enumerate(pairs) if tag == 0)]

    def values(self, tag: int) -> list[int]:
        return [value for found, value in self.dynamic if found == tag]

    def names(self, tag: int) -> list[str]:
        return [self._name(value) for value in self.values(tag)]

    @cached_property
    def symbols(self) -> list[Symbol]:
        """The dynamic symbols but for the sections'; the older hash table tells how many there are."""
        (table,), (hashes,) = self.values(SYMTAB), self.values(HASH)
        count = struct.unpack_from("<II", self.data, self._offset(hashes))[1]
        return [symbol for symbol in self._rows(self._offset(table), count) if symbol.name]

    def _rows(self, at: int, count: int) -> Iterator[Symbol]:
        for index in range(count):
            if self.bits == 64:
                name, info, _, section, _, _ = struct.unpack_from("<IBBHQQ", self.data, at + 24 * index)
            else:
                name, _, _, info, _, section = struct.unpack_from("<IIIBBH", self.data, at + 16 * index)
            yield Symbol(self._name(name) if info & 15 != 3 else "", info >> 4 == 2, section != 0)

    def _tables(self) -> tuple[int, int, int]:
        if self.bits == 64:
            return (*struct.unpack_from("<Q", self.data, 32), *struct.unpack_from("<HH", self.data, 54))
        return (*struct.unpack_from("<I", self.data, 28), *struct.unpack_from("<HH", self.data, 42))

    def _offset(self, address: int) -> int:
        """Where in the file that lies which is loaded at `address`."""
        (found,) = [item for item in self.of(LOAD) if item.address <= address < item.address + item.file_bytes]
        return found.offset + address - found.address

    def _name(self, start: int) -> str:
        (strings,) = self.values(STRTAB)
        at = self._offset(strings) + start
        return self.data[at : self.data.index(b"\0", at)].decode()
