"""A shape rule against the body: what an operator's author says of a node's outputs is what its nodes compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgec.base.errors import Problem
from edgec.operators.definition import CustomOperator

Extents = Sequence[int]


def broken_promise(
    operator: CustomOperator, where: str, inputs: Sequence[Extents], outputs: Sequence[Extents], attributes: Mapping[str, Any]
) -> Problem | None:  # fmt: skip
    """What is wrong with the rule for this node; None where it holds, or where there is none."""
    if operator.shape is None:
        return None
    try:
        told = operator.shape(*map(tuple, inputs), **attributes)
        several = [tuple(map(int, extents)) for extents in (told if told and not _is_extent(told[0]) else [told])]
    except Exception as error:
        return Problem(f"the shape rule of {operator} fails: {type(error).__name__}: {error}", where, "see docs/custom-operators.md")
    if several == [tuple(extents) for extents in outputs]:
        return None
    what = f"the shape rule of {operator} says {_text(several)}, its body computes {_text(outputs)}"
    return Problem(what, where, "one of both is wrong")


def _is_extent(value: Any) -> bool:
    return not isinstance(value, (tuple, list))


def _text(shapes: Sequence[Extents]) -> str:
    return " and ".join(f"[{','.join(map(str, extents))}]" for extents in shapes)
