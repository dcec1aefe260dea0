"""Numbers as people read them, and words of models and boards made harmless: nobody vouches for either."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from edgec.base.harmless import without_controls, without_escapes

LONGEST_NAME, LONGEST_REASON = 120, 2000  # characters
SENTENCES = ("reason", "what", "attempt")  # fields that may be as long as a reason
LARGEST = 1e18  # no number of a report is larger: arithmetic stays finite
_TIMES = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"))
_SIZES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_COUNTS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def clean(words: str, most: int = LONGEST_NAME, *, lines: bool = False) -> str:
    """Text without escape sequences and control characters, on one line unless `lines`, of at most `most` characters."""
    words = without_escapes(words[: 4 * most])
    words = "\n".join(" ".join(line.split()) for line in words.splitlines() if line.strip()) if lines else " ".join(words.split())
    words = without_controls(words)
    return words if len(words) <= most else words[: most - 1] + "…"


def harmless(value: Any, name: str = "") -> Any:
    """A record (or a part of one, called `name`) with clean words and numbers that arithmetic survives."""
    if isinstance(value, float):
        return min(max(value, -LARGEST), LARGEST) if not math.isnan(value) else 0.0
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(**{field: harmless(getattr(value, field), field) for field in _fields(type(value))})
    if isinstance(value, tuple):
        return tuple([harmless(item, name) for item in value])
    if isinstance(value, Mapping):
        return {clean(key): harmless(item) for key, item in value.items()}
    if isinstance(value, str):
        return clean(value, LONGEST_REASON, lines=True) if name in SENTENCES else clean(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return min(max(value, -int(LARGEST)), int(LARGEST))
    return value


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def digits(value: float, count: int = 3) -> str:
    """`count` significant digits; no exponent where people do without."""
    if value == 0 or not 1e-4 <= abs(value) < 10**7:
        return f"{value:.{count}g}"
    places = max(0, count - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{places}f}"


def time_text(us: float, count: int = 3) -> str:
    """Microseconds in the unit that suits them."""
    size, unit = next((row for row in _TIMES if abs(us) >= row[0]), _TIMES[-1])
    return f"{digits(us / size, count)} {unit}"


def interval_text(low: float, high: float) -> str:
    """Both ends of an interval of microseconds in one unit."""
    size, unit = next((row for row in _TIMES if abs(high) >= row[0]), _TIMES[-1])
    return f"{digits(low / size, 4)} to {digits(high / size, 4)} {unit}"


def size_text(count: float) -> str:
    size, unit = next((row for row in _SIZES if abs(count) >= row[0]), (1, "B"))
    return f"{digits(count / size)} {unit}" if size > 1 else f"{int(count)} B"


def count_text(count: float) -> str:
    size, unit = next((row for row in _COUNTS if abs(count) >= row[0]), (1.0, ""))
    return f"{digits(count / size)} {unit}".rstrip() if size > 1 else digits(count)


def percent(share: float, places: int = 1) -> str:
    return f"{100 * share:.{places}f} %" if abs(share) < 1e4 else "over 1,000,000 %"


def moment(started: str) -> str:
    """A time of a record as people read it."""
    return re.sub(r"(\d)T(\d\d:\d\d:\d\d)(\.\d+)?(Z|\+00:00)$", r"\1 \2 UTC", started)


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def short(sha256: str) -> str:
    """Enough of a hash to tell packages apart."""
    return sha256[:12]


def fitting(words: str, width: float, character: float = 6.2) -> str:
    """`words` cut to about `width` pixels; "" where not even three characters fit."""
    room = int(width / character)
    return words if len(words) <= room else words[: room - 1] + "…" if room > 3 else ""
