"""What is read before a choice that memory makes: `mask[j] ? in[i] : 0` becomes a read of in[i], and then the choice.

gcc 12 turns a read that depends on a mask into AVX2's masked read. Where the mask advances by another step than what is read, as in Where
with a mask for several rows, it reads at the mask's step: other numbers. What is always read needs no mask.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from edgec.program.expr import BOOL, Binary, Expr, Load, Select, Unary
from edgec.program.walk import children, walk


def early_reads(roots: Iterable[Expr]) -> list[Load]:
    """Reads that only a branch of such a choice has, and whose place is inside of the buffer whatever is chosen."""
    always, chosen = list[Load](), list[Load]()
    for root in roots:
        for item, is_chosen in _reads(root, False):
            (chosen if is_chosen else always).append(item)
    return [item for item in dict.fromkeys(chosen) if item not in always]


def _reads(item: Expr, is_chosen: bool) -> Iterator[tuple[Load, bool]]:
    if isinstance(item, Select):
        yield from _reads(item.condition, is_chosen)
        if all(map(_has_load, _tests(item.condition))):  # else it may keep the place inside
            yield from _reads(item.a, True)
            yield from _reads(item.b, True)
    elif isinstance(item, Load):
        if not _has_load(item.index):  # else what chooses may be what the place is
            yield item, is_chosen
    elif _is_logical(item):
        yield from _reads(children(item)[0], is_chosen)
    else:
        for child in children(item):
            yield from _reads(child, is_chosen)


def _tests(condition: Expr) -> Iterator[Expr]:
    """What a condition joins by and, or and not."""
    if _is_logical(condition) or (isinstance(condition, Unary) and condition.op == "not"):
        for child in children(condition):
            yield from _tests(child)
    else:
        yield condition


def _is_logical(item: Expr) -> bool:
    """Whether C may leave the second operand out."""
    return isinstance(item, Binary) and item.a.dtype is BOOL and item.op in ("and", "or")


def _has_load(item: Expr) -> bool:
    return any(isinstance(part, Load) for part in walk(item))
