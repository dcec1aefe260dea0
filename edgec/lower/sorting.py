"""Sorting places on one axis by the elements that lie there: runs are merged to those of twice the length until one is left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from edgec.ir.types import DType
from edgec.lower.builder import Lowering
from edgec.lower.values import Extents, Index, Value, View, view_of
from edgec.program.expr import INT, Const, Expr, binary, cast, clamp, const, load, logical, select, unary, var
from edgec.program.program import Assign, Declare, For, Statement, Store

Before = Callable[[Expr, Expr], Expr]
Sides = tuple[View, View]  # of places, which go from one to the other at each turn


def ordering(dtype: DType, largest: bool) -> Before:
    """Whether an element comes before another one for what it is; neither of two equal ones does."""

    def before(a: Expr, b: Expr) -> Expr:
        low, high = (b, a) if largest else (a, b)
        plain = binary("lt", low, high)
        return logical("or", plain, logical("and", binary("eq", low, low), _is_nan(high))) if dtype.is_float else plain

    if dtype is DType.BOOL:
        return lambda a, b: before(cast(a, INT), cast(b, INT))
    return before


def _is_nan(a: Expr) -> Expr:
    return unary("not", binary("eq", a, a))


@dataclass(frozen=True)
class Row:
    """The elements along one axis, all other indices given, and which of two comes first."""

    source: Value
    index: Index
    axis: int
    extent: int
    before: Before

    def at(self, place: Expr) -> Expr:
        return self.source.at((*self.index[: self.axis], place, *self.index[self.axis + 1 :]))

    def position(self, view: View, place: Expr) -> Expr:
        return view.position((*self.index[: self.axis], place, *self.index[self.axis + 1 :]))


def two_sides(lowering: Lowering, name: str, shape: Extents, extent: Expr) -> Sides:
    """Buffers of their own; where a run counts the extent, parts of one, of which a loop can compute which one it means."""
    if isinstance(extent, Const):
        return view_of(lowering.places(f"{name}_0", shape, extent)), view_of(lowering.places(f"{name}_1", shape, extent))
    both = view_of(lowering.places(name, (const(2), *shape), extent))
    first = View(both.buffer, both.dtype, const(0), both.strides[1:])
    return first, replace(first, offset=both.strides[0])


def turns(extent: int) -> int:
    """How often runs are merged until one is left."""
    return (extent - 1).bit_length()


def ordered(row: Row, sides: Sides, count: Expr, k: Expr) -> list[Statement]:
    """The first `k` of the first `count` places of the first side in order, in the side to which the last of the `turns` goes."""
    if isinstance(row.source.shape[row.axis], Const):
        return _spelled_out(row, sides, count, k)
    return _in_a_loop(row, sides, count, k)


def _spelled_out(row: Row, sides: Sides, count: Expr, k: Expr) -> list[Statement]:
    """Turn by turn, which is faster, as lengths are numbers."""
    body, group = list[Statement](), var("group")
    for turn in range(turns(row.extent)):
        width, pair, there = const(1 << turn), const(2 << turn), (sides[turn % 2], sides[1 - turn % 2])
        whole, left = binary("floordiv", count, pair), binary("mod", count, pair)
        if whole != const(0):
            body.append(For(group, whole, _merged(row, there, Runs(group * pair, width, pair, f"_of_{1 << turn}"), k)))
        if left != const(0):
            body += _merged(row, there, Runs(whole * pair, binary("min", left, width), left, f"_end_{1 << turn}"), k)
    return body


def _in_a_loop(row: Row, sides: Sides, count: Expr, k: Expr) -> list[Statement]:
    """With little code: a detector sorts what it has found of each class."""
    turn, group, width, pair, left = var("turn"), var("group"), var("width"), var("pair"), var("left")
    start, half, whole = var("start"), var("half"), var("whole")
    groups = binary("min", binary("floordiv", count + pair - 1, pair), row.extent)
    at = binary("mod", turn, 2) * sides[1].offset
    there = (replace(sides[0], offset=at), replace(sides[0], offset=sides[1].offset - at))
    merged: tuple[Statement, ...] = (
        Declare(start, group * pair), Declare(left, count - start), Declare(half, binary("min", width, left)),
        Declare(whole, binary("min", binary("min", pair, left), row.extent)), *_merged(row, there, Runs(start, half, whole), k),
    )  # fmt: skip
    body: tuple[Statement, ...] = (Declare(pair, width + width), For(group, groups, merged), Assign(width, pair))
    return [Declare(width, const(1), mutable=True), For(turn, const(turns(row.extent)), body)]


@dataclass(frozen=True)
class Runs:
    """Two runs, one behind the other: where they begin, the length of the first, that of both, and what ends the names of variables."""

    start: Expr
    half: Expr
    count: Expr
    name: str = ""


def _merged(row: Row, sides: Sides, runs: Runs, k: Expr) -> tuple[Statement, ...]:
    """The first `k` of two runs that are in order, in order, from one side to the other; of neither run more are looked at."""
    source, target = sides
    i, j, o = (var(f"{name}{runs.name}") for name in ("i", "j", "o"))
    first, second, later = var("first"), var("second"), var("later", DType.BOOL)
    a, b = (load(source.buffer, row.position(source, clamp(at, 0, row.extent - 1)), INT) for at in (i, j))
    more, out = binary("lt", j, runs.start + runs.count), binary("le", runs.start + runs.half, i)
    take = logical("and", more, logical("or", out, row.before(row.at(second), row.at(first))))
    step: tuple[Statement, ...] = (
        Declare(first, a), Declare(second, b), Declare(later, take),
        Store(target.buffer, row.position(target, clamp(runs.start + o, 0, row.extent - 1)), select(later, second, first)),
        Assign(i, select(later, i, i + 1)), Assign(j, select(later, j + 1, j)),
    )  # fmt: skip
    turn = For(o, binary("min", runs.count, k), step)
    return (Declare(i, runs.start, mutable=True), Declare(j, runs.start + runs.half, mutable=True), turn)
