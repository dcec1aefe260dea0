"""Shaders that differ by numbers alone share their code: the numbers become constants that are set when a pipeline is made.

Every shader is complete text with its shapes as literals, good to read and to compile by itself. Of those that are the same text but for
literals, one is compiled, with a specialization constant in the place of every literal that is not the same in all of them; literals that
always change together are one constant. Sizes of arrays and workgroups, and what the preprocessor reads, stay literals.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

FIRST_ID = 16  # of the constants; lower ones are the prelude's
MOST_NUMBERS = 240  # of a shader, which the host has room for

_BODY = "\nlayout(local_size_x"  # where the text of one kernel begins, behind words that many have
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
_FIXED = r"(?m:^[ \t]*\#.*$|^layout\(.*$)|\b(?:u?int|float|bool|wide|factor)\s+\w+\[\d+\]|[A-Za-z_]\w*"
_LITERAL = r"(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?[fF]?|0[xX][0-9a-fA-F]+[uU]?|\d+[uU]?"
_TOKEN = re.compile(f"(?P<fixed>{_FIXED})|(?P<literal>{_LITERAL})")


@dataclass(frozen=True)
class Module:
    """A text to compile, and by the file of each shader that it serves the values of its constants from FIRST_ID on, as words."""

    text: str
    numbers: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class _Parsed:
    file: str
    head: str
    pieces: tuple[str, ...]  # the text around the literals: one more than these
    literals: tuple[str, ...]

    @property
    def shape(self) -> tuple[object, ...]:
        return self.head, self.pieces, tuple(_kind(literal) for literal in self.literals)


def modules(texts: Mapping[str, str]) -> list[Module]:
    """The fewest modules that serve all shaders (file -> GLSL), in the order of their first ones."""
    groups: dict[tuple[object, ...], list[_Parsed]] = {}
    for file, text in texts.items():
        parsed = _parse(file, text)
        groups.setdefault(parsed.shape, []).append(parsed)
    return [module for group in groups.values() for module in _joined(group, texts)]


def _parse(file: str, text: str) -> _Parsed:
    split = text.rindex(_BODY) if _BODY in text else 0
    head, body = _COMMENT.sub("", text[:split]), _COMMENT.sub("", text[split:])
    pieces, literals, start = [], [], 0
    for found in _TOKEN.finditer(body):
        if found["literal"]:
            pieces.append(body[start : found.start()])
            literals.append(found["literal"])
            start = found.end()
    return _Parsed(file, head, (*pieces, body[start:]), tuple(literals))


def _joined(group: Sequence[_Parsed], texts: Mapping[str, str]) -> list[Module]:
    columns = list(zip(*(item.literals for item in group), strict=True))
    changing = {column: number for number, column in enumerate(dict.fromkeys(column for column in columns if len(set(column)) > 1))}
    if len(changing) > MOST_NUMBERS:
        return [Module(texts[item.file], {item.file: ()}) for item in group]
    declared = [f"layout(constant_id = {FIRST_ID + at}) const {_kind(column[0])} N{at} = {column[0]};\n" for column, at in changing.items()]
    literals = [f"N{changing[column]}" if column in changing else column[0] for column in columns]
    first = group[0]
    body = "".join(piece + literal for piece, literal in zip(first.pieces, (*literals, ""), strict=True))
    values = {item.file: tuple(_word(column[row]) for column in changing) for row, item in enumerate(group)}
    return [Module("\n".join([first.head, "".join(declared) + body.lstrip("\n")]), values)]


def _kind(literal: str) -> str:
    if literal[:2].lower() == "0x" or not re.search(r"[.eEfF]", literal):
        return "uint" if literal[-1] in "uU" else "int"
    return "float"


def _word(literal: str) -> int:
    """The literal's 32 bits."""
    if _kind(literal) == "float":
        return int(struct.unpack("<I", struct.pack("<f", float(literal.rstrip("fF"))))[0])
    return int(literal.rstrip("uU"), 0) & 0xFFFFFFFF
