"""Words that come from a board, made harmless before a person reads them."""

from __future__ import annotations

import re
import unicodedata

_ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-Z\\-_])")
MOST = 2000  # characters kept of one saying


def printable(words: bytes | str, most: int = MOST) -> str:
    """Text without escape sequences or control characters; tabs become spaces, lines stay; at most `most` characters, its end kept."""
    text = words.decode("utf-8", errors="replace") if isinstance(words, bytes) else words
    text = _ESCAPE.sub("", text).replace("\r\n", "\n").replace("\t", "    ")
    text = "".join(c if c == "\n" or unicodedata.category(c)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for c in text)
    return text if len(text) <= most else f"[...] {text[-most:]}"


def last_lines(words: bytes | str, count: int = 8) -> list[str]:
    """The last lines that say anything."""
    return [line for line in printable(words).splitlines() if line.strip()][-count:]
