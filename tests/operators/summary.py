"""The table of what passes and what is refused, at the end of the tests' output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

KEY = "operator cases"


def lines(properties: Iterable[tuple[str, Any]]) -> Iterator[str]:
    """Text of the tables that tests recorded, one for each backend."""
    sums: dict[str, dict[str, list[int]]] = {}
    for key, value in properties:
        if key == KEY:
            mine = sums.setdefault(value["backend"], {})
            for operator, counts in value["table"].items():
                mine[operator] = [a + b for a, b in zip(mine.get(operator, [0, 0]), counts, strict=True)]
    for backend, found in sums.items():
        right, refused = (sum(counts[index] for counts in found.values()) for index in range(2))
        yield f"{backend}: {right} cases right, {refused} refused"
        yield "  right: " + ", ".join(f"{name} {counts[0]}" for name, counts in found.items() if counts[0])
        yield "  refused: " + ", ".join(f"{name} {counts[1]}" for name, counts in found.items() if counts[1])
