"""What is read before a choice that memory makes: `mask[j] ? in[i] : 0` becomes a read of in[i], and then the choice.

gcc 12 turns a read that depends on a mask into AVX2's masked read. Where the mask advances by another step than what is read, as in Where
with a mask for several rows, it reads at the mask's step: other numbers. What is always read needs no mask.

Of `v < 0 ? slope[i] * v : v` compilers would keep the read behind a jump, and make no vectors of the loop.

And what a loop reads of a buffer that does not change, at a place that the loops around it alone decide, before the loop: compilers read
it again after each store, which could have changed it for all that they know, or keep to one number at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from edgec.program.expr import BOOL, Binary, Const, Expr, Load, Select, Size, Unary, Var
from edgec.program.program import Declare, For, Statement
from edgec.program.walk import children, distinct, roots


def chooses_in_pairs(loop: For) -> bool:
    """Whether an innermost loop of two rounds has reads that a choice may leave out.

    Where it takes both rounds for a pair and makes vectors of the loop around, gcc 12 gives the masked reads of all vectors the mask of
    the first one.
    """
    innermost = not any(isinstance(item, For) for item in loop.body)
    if not innermost or not isinstance(loop.extent, Const) or loop.extent.value != 2:
        return False
    choices = [item for item in distinct(roots(loop.body)) if isinstance(item, Select)]
    return any(isinstance(part, Load) for item in choices for part in distinct((item.a, item.b)))


def early_reads(roots: Iterable[Expr], data: Collection[str] = (), mutable: Collection[str] = ()) -> list[Load]:
    """Reads that only a branch of such a choice has, and whose place is inside of the buffer whatever is chosen.

    data: the variables that hold what was read. mutable: those that hold anything.
    """
    always, chosen = list[Load](), list[Load]()
    for root in roots:
        for item, is_chosen in _reads(root, False, frozenset(data), frozenset(mutable)):
            (chosen if is_chosen else always).append(item)
    return [item for item in dict.fromkeys(chosen) if item not in always]


def steady_reads(body: Iterable[Statement], constants: Collection[str], loops: Collection[str]) -> list[Load]:
    """Reads of what does not change that every turn of a loop has, at places that variables of the loops around it decide."""
    found = dict[Load, None]()
    for root in roots(body):
        found.update({item: None for item in _certain(root) if item.buffer in constants and _is_steady(item.index, loops)})
    return list(found)


def _certain(item: Expr) -> Iterator[Load]:
    """The reads of an expression that no choice leaves out."""
    for child in children(item)[: 1 if isinstance(item, Select) or _is_logical(item) else None]:
        yield from _certain(child)
    if isinstance(item, Load):
        yield item


def _is_steady(item: Expr, loops: Collection[str]) -> bool:
    if isinstance(item, Var):
        return item.name in loops
    return isinstance(item, (Binary, Const, Size)) and all(_is_steady(child, loops) for child in children(item))


def data_of(item: Statement, data: frozenset[str]) -> frozenset[str]:
    """The variables that hold what was read, behind a statement."""
    if not isinstance(item, Declare) or item.mutable or not _has_load(item.value, data):
        return data
    return data | {item.var.name}


def _reads(item: Expr, is_chosen: bool, data: frozenset[str], mutable: frozenset[str]) -> Iterator[tuple[Load, bool]]:
    if isinstance(item, Select):
        yield from _reads(item.condition, is_chosen, data, mutable)
        if all(_has_load(test, data) for test in _tests(item.condition)):  # else it may keep the place inside
            yield from _reads(item.a, True, data, mutable)
            yield from _reads(item.b, True, data, mutable)
    elif isinstance(item, Load):
        if not _has_load(item.index, data | mutable):  # else what chooses may be what the place is
            yield item, is_chosen
    elif _is_logical(item):
        yield from _reads(children(item)[0], is_chosen, data, mutable)
    else:
        for child in children(item):
            yield from _reads(child, is_chosen, data, mutable)


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


def _has_load(item: Expr, data: frozenset[str]) -> bool:
    return any(isinstance(part, Load) or (isinstance(part, Var) and part.name in data) for part in distinct([item]))
