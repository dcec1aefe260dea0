"""Numbers out of what an exam program says, which anybody may have written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgec.boards.board.exam_program import garbage
from edgec.boards.connect.connection import Connection


def numbers(facts: Mapping[str, Any], name: str, connection: Connection) -> tuple[float, ...]:
    """ProgramFailed for what is no list of numbers that can be."""
    values = facts.get(name)
    if not isinstance(values, list):
        raise garbage(connection, f"no list {name!r}", "")
    return tuple(number({name: value}, name, connection) for value in values)


def number(facts: Mapping[str, Any], name: str, connection: Connection) -> float:
    """ProgramFailed for what is no number from 0 to 1e18."""
    value = facts.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1e18:
        raise garbage(connection, f"{name} is no number that can be", "")
    return float(value)
