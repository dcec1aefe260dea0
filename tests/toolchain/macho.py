"""What tests read in Mach-O files: universal ones, archives of them, and in objects the system and the symbols."""

from __future__ import annotations

import struct
from dataclasses import dataclass

_BUILD_VERSION, _SYMTAB, _SEGMENT_64 = 0x32, 0x2, 0x19
PLATFORMS = {1: "macos", 2: "ios", 7: "simulator"}


@dataclass(frozen=True)
class Object:
    """platform and oldest: the system and its first version that may load this. defined: name -> whether nobody outside of a library
    made of it sees it."""

    name: str
    processor: int
    platform: str
    oldest: tuple[int, int]
    sections: frozenset[str]
    defined: dict[str, bool]
    undefined: frozenset[str]


def parts(data: bytes) -> dict[int, bytes]:
    """Type of processor -> its part of a universal file."""
    magic, count = struct.unpack_from(">II", data)
    assert magic == 0xCAFEBABE
    rows = [struct.unpack_from(">IIIII", data, 8 + 20 * number) for number in range(count)]
    ends = [8 + 20 * count]
    for _, _, place, size, alignment in rows:
        assert place % (1 << alignment) == 0 and place >= ends[-1]
        ends.append(place + size)
    assert ends[-1] == len(data)
    return {row[0]: data[row[2] : row[2] + row[3]] for row in rows}


def objects(archive: bytes) -> list[Object]:
    """Of an archive as Apple's tools write them: long names before the content, a table of symbols first."""
    assert archive.startswith(b"!<arch>\n")
    place, found = 8, []
    while place < len(archive):
        header, size = archive[place : place + 60], int(archive[place + 48 : place + 58])
        assert header[16:40].split() == [b"0", b"0", b"0"], "times and owners tell who built"
        long = int(header[3:16])
        content = archive[place + 60 : place + 60 + size]
        found.append((content[:long].rstrip(b"\0").decode(), place + 60 + long, content[long:]))
        place += 60 + size
    assert found[0][0].startswith("__.SYMDEF")
    assert all(at % 8 == 0 for _, at, _ in found), "Apple's linker wants 64-bit objects at multiples of 8"
    return [_object(name, content) for name, _, content in found[1:]]


def _object(name: str, data: bytes) -> Object:
    magic, processor, _, kind, count = struct.unpack_from("<IIIII", data)
    assert (magic, kind) == (0xFEEDFACF, 1)
    place, version, sections = 32, ("", (0, 0)), set()
    symbols: list[tuple[str, int]] = []
    for _ in range(count):
        command, size = struct.unpack_from("<II", data, place)
        if command == _BUILD_VERSION:
            platform, oldest = struct.unpack_from("<II", data, place + 8)
            version = (PLATFORMS[platform], (oldest >> 16, oldest >> 8 & 255))
        elif command == _SYMTAB:
            symbols = _symbols(data, *struct.unpack_from("<4I", data, place + 8))
        elif command == _SEGMENT_64:
            (number,) = struct.unpack_from("<I", data, place + 64)
            sections |= {data[place + 72 + 80 * row : place + 88 + 80 * row].rstrip(b"\0").decode() for row in range(number)}
        place += size
    external = {name: kind for name, kind in symbols if kind & 1}
    defined = {name: bool(kind & 0x10) for name, kind in external.items() if kind & 0xE}
    return Object(name, processor, *version, frozenset(sections), defined, frozenset(external) - frozenset(defined))


def _symbols(data: bytes, place: int, count: int, strings: int, size: int) -> list[tuple[str, int]]:
    rows = [struct.unpack_from("<IBBHQ", data, place + 16 * number) for number in range(count)]
    table = data[strings : strings + size]
    return [(table[row[0] : table.index(b"\0", row[0])].decode(), row[1]) for row in rows]
