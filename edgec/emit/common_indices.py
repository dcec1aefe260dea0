"""Index arithmetic that a statement has more than once, which emitted C computes once and gives a name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from edgec.ir.types import DType
from edgec.program.expr import Binary, Const, Expr, Size, Var
from edgec.program.program import Statement
from edgec.program.walk import children, expressions, walk


def common_indices(item: Statement, shared: Collection[Expr], mutable: Collection[str]) -> list[Expr]:
    """Index arithmetic (two operations or more) that a statement uses twice and that has no name yet, smallest first."""
    parts = [part for root in expressions(item) for part in _unnamed(root, shared) if isinstance(part, Binary)]
    counts: Counter[Expr] = Counter(part for part in parts if _is_index(part, mutable))
    found = [part for part, count in counts.items() if count > 1 and _weight(part) > 1]
    inner = {child for part in found for child in walk(part) if child != part and counts[child] <= counts[part]}
    return sorted((part for part in found if part not in inner), key=_weight)


def _unnamed(item: Expr, shared: Collection[Expr]) -> Iterator[Expr]:
    """`walk` without what has a name."""
    if item not in shared:
        for child in children(item):
            yield from _unnamed(child, shared)
        yield item


def _is_index(item: Expr, mutable: Collection[str]) -> bool:
    """Integer arithmetic on names and constants alone, which is cheap and safe to compute early, guards or not."""
    if item.dtype is not DType.INT32 or not isinstance(item, (Binary, Const, Var, Size)):
        return False
    if isinstance(item, Var) and item.name in mutable:
        return False
    if isinstance(item, Binary) and item.op in ("div", "floordiv", "mod") and not isinstance(item.b, Const):
        return False
    return all(_is_index(child, mutable) for child in children(item))


def _weight(item: Expr) -> int:
    return sum(isinstance(part, Binary) for part in walk(item))
