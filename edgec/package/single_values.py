"""What single values of a manifest may be: names, hashes, counts, paths. Beyond these bounds nothing is meant."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from edgec.base.codec import Rule
from edgec.base.part import LONGEST

MANIFEST, BUILD, SIGNATURE = "manifest.json", "build.json", "manifest.sig"  # the three files that no list has
MOST = 2**48  # bytes, MACs or elements
MOST_TEXT = 1 << 16  # characters
MOST_AXES = 64
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON can write it alone, and then nothing can print it
_PART = re.compile(r"(?!\.{1,2}(?:/|$))[A-Za-z0-9_.+@-]{1,200}")
# element type -> bytes of an element
BYTES = {"float64": 8, "int64": 8, "uint64": 8, "float32": 4, "int32": 4, "uint32": 4, "float16": 2, "bfloat16": 2, "int16": 2, "uint16": 2}
BYTES |= {"int8": 1, "uint8": 1, "bool": 1}


def is_path(path: object) -> bool:
    """Whether a list may name it: relative, plain letters, no way up; and none of the three files that lists are kept in."""
    if not isinstance(path, str) or len(path) > 1000 or path in (MANIFEST, BUILD, SIGNATURE):
        return False
    return all(map(_PART.fullmatch, path.split("/")))


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MOST


def _is_number(value: Any) -> bool:
    return (type(value) is int and abs(value) <= MOST) or (isinstance(value, float) and math.isfinite(value))


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_AXES and all(map(_is_count, value)) and math.prod(value) <= MOST


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MOST_TEXT and _SURROGATE.search(value) is None


def _is_plain(value: Any) -> bool:
    """What a key of [preprocess] can be."""
    if isinstance(value, list):
        return len(value) <= MOST_AXES and all(_is_number(item) or _is_text(item) for item in value)
    return value is None or isinstance(value, bool) or _is_number(value) or _is_text(value)


def _are_numbers(value: Any) -> bool:
    items = value if isinstance(value, (list, tuple)) else [value]
    return 1 <= len(items) <= LONGEST and all(isinstance(item, bool) or _is_number(item) or type(item) is int for item in items)


def _matching(pattern: str, wanted: str) -> Rule:
    known = re.compile(pattern)
    return Rule(lambda value: isinstance(value, str) and known.fullmatch(value) is not None, wanted)


def one_of(*choices: str) -> Rule:
    return Rule(lambda value: isinstance(value, str) and value in choices, f"one of {', '.join(choices)}")


Identifier = Annotated[str, _matching(r"[A-Za-z_][A-Za-z0-9_]{0,99}", "a name")]
Word = Annotated[str, _matching(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}", "a name")]
Hash = Annotated[str, _matching(r"[0-9a-f]{64}", "a sha256")]
Path = Annotated[str, Rule(is_path, "a path in a package, once")]
Text = Annotated[str, Rule(_is_text, f"text of at most {MOST_TEXT} characters")]
Count = Annotated[int, Rule(_is_count, "a whole number, not negative")]
Seed = Annotated[int, Rule(lambda value: type(value) is int and value >= 0, "a whole number, not negative")]
Number = Annotated[float, Rule(_is_number, "a number")]
Scale = Annotated[float, Rule(lambda value: _is_number(value) and value > 0, "a number above 0")]
Code = Annotated[int, Rule(lambda value: type(value) is int and abs(value) < 2**32, "a whole number")]
Flag = Annotated[bool, Rule(lambda value: isinstance(value, bool), "true or false")]
Plain = Annotated[Any, Rule(_is_plain, "a number, a text, or a list of them")]
Numbers = Annotated[Any, Rule(_are_numbers, "a number, or a list of them")]
Shape = Annotated[tuple[int, ...], Rule(_is_shape, "a list of extents")]
ElementType = Annotated[str, one_of(*BYTES)]
# an extent that runs decide is the name of its size
Extent = Annotated[int | str, Rule(lambda value: _is_count(value) or _is_text(value), "an extent, or the name of a size")]
