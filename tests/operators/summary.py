"""The table of what passes and what is refused, at the end of the tests' output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tests.operators import coverage
from tests.operators.coverage import Coverage

KEY = "operator cases"


def lines(properties: Sequence[tuple[str, Any]]) -> Iterator[str]:
    """Text of the tables that tests recorded, one for each backend."""
    sums: dict[str, dict[str, list[int]]] = {}
    for key, value in properties:
        if key == KEY:
            mine = sums.setdefault(value["backend"], {})
            for operator, counts in value["table"].items():
                mine[operator] = [a + b for a, b in zip(mine.get(operator, [0] * len(counts)), counts, strict=True)]
    covered = [Coverage(*value) for key, value in properties if key == coverage.KEY]
    if covered:
        yield f"the onnx package: {coverage.line(sum(covered, Coverage()))}"
    for backend, found in sums.items():
        right, refused, *cpu = (sum(column) for column in zip(*found.values(), strict=True))
        yield f"{backend}: {right} cases right, {refused} refused" + "".join(f", {count} on the CPU" for count in cpu)
        yield "  right: " + ", ".join(f"{name} {counts[0]}" for name, counts in found.items() if counts[0])
        yield "  refused: " + ", ".join(f"{name} {counts[1]}" for name, counts in found.items() if counts[1])
        if any(counts[2:] and counts[2] for counts in found.values()):
            yield "  on the CPU: " + ", ".join(f"{name} {counts[2]}" for name, counts in found.items() if counts[2])
