"""Loops that reduce rows (softmax, norms, means): a workgroup for each row, whose invocations share the row's loops.

An invocation takes every 64th iteration of a loop; sums, products, maxima and minima are joined after it, first within teams of
invocations that can see each other's registers (subgroups, simdgroups) where the device has such, then in shared memory.
All else is computed by every invocation alike, from the same numbers, and stored by the first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from edgec.emit.gpu.nest import Axis, Nest, tells_apart
from edgec.emit.gpu.render import INDENT, Scope, kind_of, literal, name_of, render, render_statements
from edgec.ir.types import DType
from edgec.program.expr import INT, Binary, Const, Expr, Load, Var, binary
from edgec.program.linear_index import linear
from edgec.program.program import Assign, Declare, For, Statement, Store
from edgec.program.regions import Place
from edgec.program.walk import expressions, walk

GROUP = 64
SHORTEST = 32  # iterations that are worth a workgroup, where they go through memory in order; else twice that many
FEW = 256  # rows that leave a GPU idle when each is one invocation's
_TEAMS = {
    "add": "team_sum", "mul": "team_product", "max": "team_max", "min": "team_min", "maximum": "team_maximum", "minimum": "team_minimum",
}  # fmt: skip
_NEUTRAL = {"add": 0, "mul": 1, "max": -math.inf, "min": math.inf, "maximum": -math.inf, "minimum": math.inf}


@dataclass(frozen=True)
class Reduction:
    """variable = variable `op` value, in every iteration."""

    variable: Var
    op: str
    value: Expr


@dataclass(frozen=True)
class SharedLoop:
    """A perfect nest of loops whose iterations the invocations share."""

    axes: tuple[Axis, ...]
    body: tuple[Statement, ...]
    reductions: tuple[Reduction, ...]

    @property
    def iterations(self) -> int:
        return math.prod(axis.extent for axis in self.axes)


Part = SharedLoop | Declare | Assign | Store


def rows(nest: Nest, places: Mapping[str, Place], exact: bool) -> tuple[Part, ...] | None:
    """The nest's body as parts that a workgroup does together; None where it cannot or should not."""
    parts: list[Part] = []
    for item in nest.body:
        part = _shared(item, exact) if isinstance(item, For) else item
        if part is None:
            return None
        parts.append(part)
    loops = [part for part in parts if isinstance(part, SharedLoop)]
    if not loops or not any(loop.reductions for loop in loops) or not _worth_it(nest, loops) or not _keeps_apart(nest, parts, places):
        return None
    return tuple(parts)


def _shared(loop: For, exact: bool) -> SharedLoop | None:
    axes: list[Axis] = []
    body: tuple[Statement, ...] = (loop,)
    while len(body) == 1 and isinstance(body[0], For):
        inner = body[0]
        if not isinstance(inner.extent, Const) or not isinstance(inner.start, Const | None):
            return None
        axes.append(Axis(inner.var, 0 if inner.start is None else int(inner.start.value), int(inner.extent.value)))
        body = inner.body
    reductions: list[Reduction] = []
    plain: list[Statement] = []
    for item in body:
        if isinstance(item, For) or (isinstance(item, Declare) and item.mutable):
            return None
        if not isinstance(item, Assign):
            plain.append(item)
            continue
        found = _reduction(item, exact)
        if found is None:
            return None
        reductions.append(found)
    changed = {item.variable for item in reductions}
    read = {part for item in (*plain, *reductions) for root in _roots(item) for part in walk(root)}
    if len(changed) < len(reductions) or changed & read:
        return None
    return SharedLoop(tuple(axes), tuple(plain), tuple(reductions))


def _roots(item: Statement | Reduction) -> tuple[Expr, ...]:
    return (item.value,) if isinstance(item, Reduction) else expressions(item)


def _reduction(item: Assign, exact: bool) -> Reduction | None:
    """The assignment as one, where any order of its iterations gives the same, or nearly and that is enough."""
    value, added = item.value, []
    while isinstance(value, Binary) and value.op == "add" and item.var.dtype is INT and value.a != item.var:
        added.append(value.b)  # (total + x) + c = total + (x + c), for integers
        value = value.a
    if not isinstance(value, Binary) or value.op not in _TEAMS or item.var.dtype not in (DType.FLOAT32, INT):
        return None
    if item.var.dtype.is_float and exact:
        return None
    if value.a == item.var:
        term = value.b
    elif value.b == item.var and value.op in ("add", "mul"):
        term = value.a
    else:
        return None
    for other in added:
        term = binary("add", term, other)
    return Reduction(item.var, value.op, term) if not added or value.op == "add" else None


def _worth_it(nest: Nest, loops: list[SharedLoop]) -> bool:
    count = math.prod(axis.extent for axis in nest.axes)
    longest = max(loops, key=lambda loop: loop.iterations)
    last = longest.axes[-1].variable
    loads = [
        part for item in (*longest.body, *longest.reductions) for root in _roots(item) for part in walk(root) if isinstance(part, Load)
    ]
    in_order = any((index := linear(load.index)) is not None and index.factors.get(last) == 1 for load in loads)
    if count == 0:
        return False
    return longest.iterations >= SHORTEST if in_order else longest.iterations >= 2 * SHORTEST and count < FEW


def _keeps_apart(nest: Nest, parts: list[Part], places: Mapping[str, Place]) -> bool:
    """Whether what is stored is read only by the invocation that stored it, in the same iteration of equal loops, and by it alone."""
    found: list[tuple[tuple[Axis, ...], Store | Load]] = []
    for part in parts:
        loop = part if isinstance(part, SharedLoop) else None
        items: tuple[Statement | Reduction, ...] = (*loop.body, *loop.reductions) if loop is not None else (part,)  # type: ignore[assignment]
        for item in items:
            axes = loop.axes if loop is not None else ()
            found += [(axes, item)] if isinstance(item, Store) else []
            found += [(axes, load) for root in _roots(item) for load in walk(root) if isinstance(load, Load)]
    for axes, store in found:
        if not isinstance(store, Store):
            continue
        if axes and not tells_apart(store.index, (*nest.axes, *axes)):
            return False
        for others, access in found:
            same = axes == others and store.index == access.index and places[store.buffer] == places[access.buffer]
            if places[store.buffer].overlaps(places[access.buffer]) and not (same and (axes or store is access)):
                return False
    return True


# Text


def shared_arrays(parts: tuple[Part, ...]) -> list[tuple[str, str, int]]:
    """The shared memory of a kernel: an array for each type that is reduced."""
    kinds = {kind_of(item.variable.dtype) for part in parts if isinstance(part, SharedLoop) for item in part.reductions}
    return [(kind, f"{kind}_parts", GROUP) for kind in sorted(kinds)]


def render_rows(parts: tuple[Part, ...], scope: Scope, depth: int) -> Iterator[str]:
    """Lines for one row; `lane` numbers the invocations."""
    pad = INDENT * depth
    for part in parts:
        if isinstance(part, SharedLoop):
            yield from _loop(part, scope, depth)
        elif isinstance(part, Store):
            yield f"{pad}if (lane == 0) {{"
            yield from render_statements((part,), scope, depth + 1)
            yield f"{pad}}}"
        else:
            yield from render_statements((part,), scope, depth)


def _loop(loop: SharedLoop, scope: Scope, depth: int) -> Iterator[str]:
    pad, inner = INDENT * depth, INDENT * (depth + 1)
    for item in loop.reductions:
        yield f"{pad}{kind_of(item.variable.dtype)} own_{item.variable.name} = {_neutral(item)};"
    yield f"{pad}for (int turn = lane; turn < {loop.iterations}; turn += {GROUP}) {{"
    below = 1
    for place, axis in reversed(list(enumerate(loop.axes))):
        value = "turn" if below == 1 else f"turn / {below}"
        value = f"{value} % {axis.extent}" if place > 0 else value
        yield f"{inner}int {name_of(axis.variable.name)} = {value}{f' + {axis.start}' if axis.start else ''};"
        below *= axis.extent
    yield from render_statements(loop.body, scope, depth + 1)
    for item in loop.reductions:
        own = Var(item.variable.dtype, f"own_{item.variable.name}")
        yield f"{inner}{own.name} = {render(Binary(own.dtype, item.op, own, item.value), scope)};"
    yield f"{pad}}}"
    for item in loop.reductions:
        yield from _gather(item, depth)


def _gather(item: Reduction, depth: int) -> Iterator[str]:
    """Every team joins its values in registers. Then, in shared memory, half of the teams' values are joined with the others, then a
    quarter, until there is one; all take it. Where the language knows no teams, every invocation is one."""
    pad, name, own = INDENT * depth, name_of(item.variable.name), f"own_{item.variable.name}"
    array = f"{kind_of(item.variable.dtype)}_parts"
    yield f"{pad}{own} = {_TEAMS[item.op]}({own});"
    yield f"{pad}if (leads_team()) {array}[team_of(lane)] = {own};"
    yield f"{pad}barrier_group();"
    yield f"{pad}for (int count = teams_of({GROUP}), kept = 0; count > 1; count = kept) {{"
    yield f"{pad}{INDENT}kept = (count + 1) / 2;"
    yield f"{pad}{INDENT}if (lane < count / 2) {array}[lane] = {_join(item, f'{array}[lane]', f'{array}[lane + kept]')};"
    yield f"{pad}{INDENT}barrier_group();"
    yield f"{pad}}}"
    yield f"{pad}{name} = {_join(item, name, f'{array}[0]')};"
    yield f"{pad}barrier_group();"


def _join(item: Reduction, a: str, b: str) -> str:
    dtype = item.variable.dtype
    return render(Binary(dtype, item.op, Var(dtype, a), Var(dtype, b)), Scope({}, {}))


def _neutral(item: Reduction) -> str:
    value, dtype = _NEUTRAL[item.op], item.variable.dtype
    if not dtype.is_float and math.isinf(value):
        return literal(-(2**31) if value < 0 else 2**31 - 1, dtype)
    return literal(value, dtype)
