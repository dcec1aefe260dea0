"""Numbers within bounds, as integer clauses have them before they round."""

from __future__ import annotations

from collections.abc import Container

from edgec.emit.ranges import is_number
from edgec.program.expr import Binary, Const, Expr, Select


def nearest_of(item: Expr, named: Container[Expr] = ()) -> tuple[str, tuple[Expr, ...]]:
    """The function of runtimes/c/math.h that rounds `item`, and what it takes: bounds apart, for it knows better ways than C to keep to
    them, unless they are in a subexpression with a name, or of what may be a NaN."""
    number, inner = _number_or_zero(item)
    bounds = _bounds(inner)
    if not bounds or item in named or inner in named:
        return "edgec_nearest", (item,)
    if number is not None:
        return "edgec_nearest_known", (number, *bounds)
    return ("edgec_nearest_within", bounds) if is_number(bounds[0]) else ("edgec_nearest", (item,))


def _number_or_zero(item: Expr) -> tuple[Expr | None, Expr]:
    """What must be a number, or `item` is 0, and what it is else."""
    if isinstance(item, Select) and isinstance(item.b, Const) and item.b.value == 0:
        asked = item.condition
        if isinstance(asked, Binary) and asked.op == "eq" and asked.a == asked.b:
            return asked.a, item.a
    return None, item


def _bounds(item: Expr) -> tuple[Expr, ...]:
    """The number, low and high of min(max(number, low), high), the bounds being constants."""
    if isinstance(item, Binary) and item.op == "min" and isinstance(item.a, Binary) and item.a.op == "max":
        found = item.a.a, item.a.b, item.b
        return found if all(isinstance(part, Const) for part in found[1:]) else ()
    return ()
