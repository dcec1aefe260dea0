"""SPIR-V in a third of its bytes, for sources and programs; runtimes/vulkan/code.h unpacks it.

All numbers are in groups of seven bits, the lower ones first, the eighth bit set but for the last. First come the words of the header.
An instruction is its opcode times 8 plus the number of its operands, 7 for at least 7, then followed by how many more; and each operand
as its difference from the one at the same place of the last instruction with the same opcode, the sign in the lowest bit. Instructions
of one kind resemble each other: most differences take one byte.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator

_HEADER_WORDS = 5
OPCODES, OPERANDS = 128, 8  # what the unpacker remembers: opcodes and places are taken modulo these


def packed(code: bytes) -> bytes:
    """Of a whole little-endian module. ValueError for anything else."""
    words = struct.unpack(f"<{len(code) // 4}I", code)
    last: defaultdict[tuple[int, int], int] = defaultdict(int)
    numbers: list[int] = list(words[:_HEADER_WORDS])
    place = _HEADER_WORDS
    while place < len(words):
        opcode, count = words[place] & 0xFFFF, (words[place] >> 16) - 1
        if not 0 <= count < len(words) - place:
            raise ValueError("an instruction of SPIR-V that is empty or longer than its module")
        numbers.append(opcode * 8 + min(count, 7))
        if count >= 7:
            numbers.append(count - 7)
        for at, word in enumerate(words[place + 1 : place + 1 + count]):
            key = opcode % OPCODES, at % OPERANDS
            numbers.append(_signed_last((word - last[key]) & 0xFFFFFFFF))
            last[key] = word
        place += 1 + count
    return bytes(byte for number in numbers for byte in _sevens(number))


def _signed_last(difference: int) -> int:
    return difference << 1 if difference < 1 << 31 else ((0x100000000 - difference) << 1) - 1


def _sevens(number: int) -> Iterator[int]:
    while number >= 0x80:
        yield number & 0x7F | 0x80
        number >>= 7
    yield number
