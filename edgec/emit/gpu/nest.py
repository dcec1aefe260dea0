"""Which iterations of a loop nest are independent: the axes over which a GPU may run them all at once.

An axis is a loop around every store of the nest whose iterations store to different elements, read of what is stored only
their own elements and carry no variable. Axes are taken out of the nest, also from between statements (a reduction over rows
that runs along the columns inside is one invocation a column), and what is left runs within an invocation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from edgec.program.expr import Const, Expr, Load, Var
from edgec.program.linear_index import linear
from edgec.program.program import Assign, Declare, For, LoopCall, Statement, Store
from edgec.program.regions import Place
from edgec.program.walk import expressions, walk


@dataclass(frozen=True)
class Axis:
    """start <= variable < start + extent."""

    variable: Var
    start: int
    extent: int


@dataclass(frozen=True)
class Nest:
    """`body` for all values of the axes, in any order."""

    axes: tuple[Axis, ...]
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class _Access:
    index: Expr
    loops: tuple[For, ...]  # that are around it, within the body
    place: Place
    element: int  # bytes
    stores: bool


def independent(call: LoopCall, places: Mapping[str, Place], sizes: Mapping[str, int]) -> Nest:
    """The call's nest with every axis that could be shown to be one. `sizes`: bytes of an element of each buffer."""
    nest = Nest((), call.body)
    if call.parallel:  # its iterations are independent by contract
        outer = call.body[0]
        assert isinstance(outer, For)
        axis = _axis_of(outer)
        if axis is None:
            return nest
        nest = Nest((axis,), outer.body)
    while (found := _next_axis(nest, places, sizes)) is not None:
        nest = found
    return nest


def _axis_of(loop: For) -> Axis | None:
    start = loop.start if loop.start is not None else Const(loop.var.dtype, 0)
    if not isinstance(loop.extent, Const) or not isinstance(start, Const):
        return None
    return Axis(loop.var, int(start.value), int(loop.extent.value))


def _next_axis(nest: Nest, places: Mapping[str, Place], sizes: Mapping[str, int]) -> Nest | None:
    """The nest with one more axis, the outermost that there is."""
    around = [loops for item, loops in walk_statements(nest.body) if isinstance(item, Store)]
    if not around or not all(isinstance(item, For) or _is_let(item) for item in nest.body):
        return None
    if any(isinstance(item, For) and not _stores(item) for item in nest.body):
        return None  # a reduction that every iteration would repeat
    for loop in around[0]:
        axis = _axis_of(loop)
        same = all(any(_matches(other, loop) for other in loops) for loops in around)
        if axis is None or not same or any(other.variable == axis.variable for other in nest.axes):
            continue
        if _carries(nest.body, loop):
            continue
        candidate = Nest((*nest.axes, axis), _without(nest.body, loop))
        if _disjoint(candidate, places, sizes):
            return candidate
    return None


def _is_let(item: Statement) -> bool:
    return isinstance(item, Declare) and not item.mutable


def _matches(one: For, other: For) -> bool:
    return (one.var, one.extent, one.start) == (other.var, other.extent, other.start)


def walk_statements(body: tuple[Statement, ...], loops: tuple[For, ...] = ()) -> Iterator[tuple[Statement, tuple[For, ...]]]:
    """Every statement that is no loop, and the loops around it."""
    for item in body:
        if isinstance(item, For):
            yield from walk_statements(item.body, (*loops, item))
        else:
            yield item, loops


def _stores(loop: For) -> bool:
    return any(isinstance(item, Store) for item, _ in walk_statements(loop.body))


def _carries(body: tuple[Statement, ...], loop: For) -> bool:
    """Whether an iteration changes a variable that lives longer than it, or something outside of the loops has its variable."""
    for item, loops in walk_statements(body):
        inside = next((place for place, other in enumerate(loops) if _matches(other, loop)), None)
        if inside is None:
            if isinstance(item, Assign):
                return True
            continue
        declared = {name.var for name, _ in walk_statements(loops[inside].body) if isinstance(name, Declare)}
        if isinstance(item, Assign) and item.var not in declared:
            return True
    return False


def _without(body: tuple[Statement, ...], loop: For) -> tuple[Statement, ...]:
    """The body with such loops replaced by their own bodies."""
    result: list[Statement] = []
    for item in body:
        if not isinstance(item, For):
            result.append(item)
        elif _matches(item, loop):
            result += item.body
        else:
            result.append(replace(item, body=_without(item.body, loop)))
    return tuple(result)


def _disjoint(nest: Nest, places: Mapping[str, Place], sizes: Mapping[str, int]) -> bool:
    """Whether what an invocation stores is stored and loaded by no other one."""
    accesses = list(_accesses(nest.body, places, sizes))
    for one in accesses:
        if not one.stores:
            continue
        same = [other for other in accesses if other.place.overlaps(one.place)]
        if any((other.place.offset, other.element) != (one.place.offset, one.element) for other in same):
            return False
        if not _apart(nest.axes, same):
            return False
    return True


def _accesses(body: tuple[Statement, ...], places: Mapping[str, Place], sizes: Mapping[str, int]) -> Iterator[_Access]:
    for item, loops in walk_statements(body):
        if isinstance(item, Store):
            yield _Access(item.index, loops, places[item.buffer], sizes[item.buffer], True)
        for root in expressions(item):
            for part in walk(root):
                if isinstance(part, Load):
                    yield _Access(part.index, loops, places[part.buffer], sizes[part.buffer], False)


def _apart(axes: tuple[Axis, ...], accesses: list[_Access]) -> bool:
    """Whether different values of the axes never lead to one element: the indices are numbers of mixed radix.

    Either all accesses have one form, whose digits are the axes and the loops within; or the loops within stay, for all of
    them together, below the least step of an axis.
    """
    if not accesses:
        return True  # of a buffer without bytes
    forms = [_form(axes, access) for access in accesses]
    if any(form is None or form[0] != (forms[0] or form)[0] for form in forms):
        return False
    known = [form for form in forms if form is not None]
    steps = list(zip(known[0][0], (axis.extent for axis in axes), strict=True))
    if all(form == known[0] for form in known):
        return _is_mixed_radix([*steps, *known[0][1]], 0)
    low = min(form[2] + sum(min(0, factor * (extent - 1)) for factor, extent in form[1]) for form in known)
    high = max(form[2] + sum(max(0, factor * (extent - 1)) for factor, extent in form[1]) for form in known)
    return _is_mixed_radix(steps, high - low)


def tells_apart(index: Expr, axes: tuple[Axis, ...]) -> bool:
    """Whether different values of the axes give different indices, nothing else being in the index."""
    found = linear(index)
    if found is None or set(found.factors) - {axis.variable for axis in axes}:
        return False
    return _is_mixed_radix([(found.factors.get(axis.variable, 0), axis.extent) for axis in axes], 0)


def _is_mixed_radix(digits: list[tuple[int, int]], span: int) -> bool:
    """digits: (step, extent); span: the largest difference of what is below them."""
    for step, extent in sorted((abs(step), extent) for step, extent in digits if extent > 1):
        if step <= span:
            return False
        span += step * (extent - 1)
    return True


def _form(axes: tuple[Axis, ...], access: _Access) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...], int] | None:
    """(steps of the axes, (step, extent) of the loops within, constant) of an index that is linear in just these."""
    index = linear(access.index)
    within = [_axis_of(loop) for loop in access.loops]
    if index is None:
        return None
    inner = [axis for axis in within if axis is not None]
    if set(index.factors) - {axis.variable for axis in (*axes, *inner)}:
        return None
    steps = sorted((index.factors[axis.variable], axis.extent) for axis in inner if axis.variable in index.factors)
    start = sum(index.factors.get(axis.variable, 0) * axis.start for axis in inner)
    return tuple(index.factors.get(axis.variable, 0) for axis in axes), tuple(steps), index.constant + start
