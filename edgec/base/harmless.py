"""Words that come from a board or a model, made harmless before a person reads them; and how layers are counted for people."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

_ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-Z\\-_])")
MOST = 2000  # characters kept of one saying
MOST_OF_A_NAME = 60  # and of the name of a layer, a node or a value


def without_escapes(text: str) -> str:
    """Text without terminal escape sequences."""
    return _ESCAPE.sub("", text)


def without_controls(text: str) -> str:
    """Text without escape sequences; other control characters but the end of a line are replaced by a sign that shows where they were."""
    text = without_escapes(text)
    return "".join(c if c == "\n" or unicodedata.category(c)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for c in text)


def printable(words: bytes | str, most: int = MOST) -> str:
    """Text without escape sequences or control characters; tabs become spaces, lines stay; at most `most` characters, its end kept."""
    text = words.decode("utf-8", errors="replace") if isinstance(words, bytes) else words
    text = without_controls(without_escapes(text).replace("\r\n", "\n").replace("\t", "    "))
    return text if len(text) <= most else f"[...] {text[-most:]}"


def ending(name: str, most: int = MOST_OF_A_NAME) -> str:
    """A name, or as much of its end: names of exporters differ there."""
    return name if len(name) <= most else f"...{name[3 - most :]}"


def last_lines(words: bytes | str, count: int = 8) -> list[str]:
    """The last lines that say anything."""
    return [line for line in printable(words).splitlines() if line.strip()][-count:]


def kept_words(types: Iterable[str]) -> str:
    """How many layers there are of each type: `2 layers in float32, 1 layer in int16`."""
    counts = Counter(types)
    return ", ".join(f"{counts[kind]} layer{'s' if counts[kind] > 1 else ''} in {kind}" for kind in sorted(counts))


def in_a_comment(text: str) -> str:
    """Text that ends no comment early and begins none, in one line and without trigraphs: control characters become spaces."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return re.sub(r"\?(?=\?)", "? ", line.replace("\\", "/").replace("*/", "* /").replace("/*", "/ *"))
