"""Loops in pieces, at the numbers where what they choose by their own number changes.

A tensor that is padded along its rows, `i < 24 ? in[i] : 0` in a loop to 28, becomes a loop to 24 and one from there on. No piece chooses,
so compilers compute it in vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from edgec.program.expr import BOOL, INT, Binary, Cast, Const, Expr, Load, Select, Unary, Var, binary, cast, const, logical, select
from edgec.program.linear_index import Linear, linear
from edgec.program.program import AnyCall, Declare, For, LoopCall, Program, Statement, Store
from edgec.program.walk import children, distinct, expressions, rebuild, rewritten, roots

PIECES = 4  # of a loop: each is code of its own
FEW = 16  # iterations that are not worth it: compilers unroll them, choices and all
LEAST, MOST = -(1 << 31), (1 << 31) - 1


def with_pieces(program: Program) -> Program:
    """`program`, in which innermost loops that read on one side of a number alone are pieces; each element is computed as before."""
    return replace(program, calls=[_in_pieces(call) for call in program.calls])


def _in_pieces(call: AnyCall) -> AnyCall:
    if not isinstance(call, LoopCall):
        return call
    first = call.body[0]
    if call.parallel and len(call.body) == 1 and isinstance(first, For):  # threads share its iterations: it stays one
        return replace(call, body=(replace(first, body=_divided(first.body)),))
    return replace(call, body=_divided(call.body))


def _divided(body: Sequence[Statement]) -> tuple[Statement, ...]:
    return tuple(part for item in body for part in (_parts(item) if isinstance(item, For) else [item]))


def _parts(loop: For) -> list[For]:
    """The pieces of a loop that are not empty; itself where it has none."""
    if any(isinstance(item, For) for item in loop.body):
        return [replace(loop, body=_divided(loop.body))]
    ends = _ends(loop)
    if ends is None or loop.lanes or not all(isinstance(item, Declare | Store) for item in loop.body):
        return [loop]
    borders = sorted({*ends, *(number for number in _borders(loop, *ends) if ends[0] < number < ends[1])})
    if not 2 < len(borders) <= PIECES + 1 or ends[1] - ends[0] < FEW:
        return [loop]
    return [_piece(loop, low, high) for low, high in pairwise(borders)]


def _ends(loop: For) -> tuple[int, int] | None:
    """The first number of a loop and the one behind its last, where both are known."""
    start = const(0) if loop.start is None else loop.start
    if not isinstance(start, Const) or not isinstance(loop.extent, Const):
        return None
    return int(start.value), int(start.value) + int(loop.extent.value)


def _borders(loop: For, low: int, high: int) -> Iterator[int]:
    """The numbers from which on a comparison has another result, of those that decide what is read."""
    for item in distinct(roots(loop.body)):
        if isinstance(item, Select) and any(isinstance(part, Load) for part in distinct([item.a, item.b])):
            for part in distinct([item.condition]):
                below = _below(part, loop.var)
                if below is not None and not _wraps(part, low, high):
                    factor, rest = below.factors[loop.var], below.constant
                    yield -(rest // factor) if factor > 0 else rest // -factor + 1


def _below(item: Expr, number: Var) -> Linear | None:
    """What is less than 0 where a comparison of a loop's number and constants holds; None for anything else."""
    if not isinstance(item, Binary) or item.op not in ("lt", "le") or item.a.dtype is not INT:
        return None
    terms = linear(Binary(INT, "sub", item.a, item.b))
    if terms is None or terms.factors.keys() != {number}:
        return None
    return replace(terms, constant=terms.constant - (item.op == "le"))


def _holds(item: Expr, number: Var, low: int, high: int) -> bool | None:
    """Whether a comparison holds from `low` to before `high`; None where that is open."""
    below = _below(item, number)
    if below is None or _wraps(item, low, high):
        return None
    first, last = (_at(below, end) < 0 for end in (low, high - 1))
    return first if first == last else None


def _wraps(item: Expr, low: int, high: int) -> bool:
    """Whether a side of a comparison leaves the range of its type."""
    sides = [_at(linear(side), end) for side in children(item) for end in (low, high - 1)]
    return not all(LEAST <= side <= MOST for side in sides)


def _at(terms: Linear | None, number: int) -> int:
    assert terms is not None, "the difference is linear"
    return sum(factor * number for factor in terms.factors.values()) + terms.constant


def _piece(loop: For, low: int, high: int) -> For:
    """The loop from one number to before another, without what is known there."""
    settle, kept, used = _settling(lambda item: _holds(item, loop.var, low, high)), list[Statement](), set[str]()
    for item in reversed(loop.body):
        settled = rewritten(item, settle)
        if not isinstance(settled, Declare) or settled.var.name in used:
            kept.insert(0, settled)
            used |= {part.name for part in distinct(expressions(settled)) if isinstance(part, Var)}
    return replace(loop, extent=const(high - low), body=tuple(kept), start=const(low) if low else None)


def _settling(known: Callable[[Expr], bool | None]) -> Callable[[Expr], Expr]:
    """What puts the comparisons whose results are known into expressions, and chooses where these decide."""
    done: dict[int, Expr] = {}

    def settled(item: Expr) -> Expr:
        if id(item) not in done:
            holds = known(item)
            done[id(item)] = const(holds) if holds is not None else _joined(item, [settled(child) for child in children(item)])
        return done[id(item)]

    return settled


def _joined(item: Expr, parts: Sequence[Expr]) -> Expr:
    """An expression over other operands; constants are folded, but for those of floats."""
    if all(part is child for part, child in zip(parts, children(item), strict=True)):
        return item
    if isinstance(item, Select):
        return select(*parts)
    if isinstance(item, Cast):
        return cast(parts[0], item.dtype)
    if isinstance(item, Binary) and item.op in ("and", "or") and item.dtype is BOOL:
        return logical(item.op, *parts)
    if isinstance(item, Binary) and all(isinstance(part, Const) for part in parts):
        return binary(item.op, *parts)
    if isinstance(item, Unary) and item.op == "not" and isinstance(parts[0], Const):
        return const(not parts[0].value)
    return rebuild(item, parts)
