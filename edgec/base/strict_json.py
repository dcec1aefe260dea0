"""JSON that may be a stranger's."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from edgec.base.errors import Problem


def load_json(text: bytes, problems: list[Problem]) -> dict[str, Any] | None:
    """A JSON object in which no key comes twice; None, with a problem, for anything else."""
    try:
        facts = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        problems.append(Problem(f"cannot be read: {str(error)[:200]}"))
        return None
    if not isinstance(facts, dict):
        problems.append(Problem("is no JSON object"))
        return None
    return facts


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    facts = dict(pairs)
    if len(facts) != len(pairs):
        (name, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"{ascii(name)[:80]} comes twice")
    return facts


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is not a number")
