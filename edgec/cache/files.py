"""Files as the content of one entry: how their names and lengths stand before them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

_LENGTH = 8  # bytes that say how long the list is


def packed(files: Mapping[str, bytes | memoryview]) -> Iterator[bytes | memoryview]:
    """The parts of an entry."""
    names = json.dumps([[name, memoryview(content).nbytes] for name, content in files.items()]).encode()
    yield len(names).to_bytes(_LENGTH, "little")
    yield names
    yield from files.values()


def unpacked(content: bytes) -> dict[str, bytes | memoryview]:
    whole, start = memoryview(content), _LENGTH + int.from_bytes(content[:_LENGTH], "little")
    files: dict[str, bytes | memoryview] = {}
    for name, size in json.loads(content[_LENGTH:start]):
        files[name] = whole[start : start + size]
        start += size
    return files
