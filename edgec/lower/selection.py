"""TopK: where the largest or smallest elements of each row are. What is equal goes by its place; NaN is larger than any number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.lower import movement
from edgec.lower.builder import Lowering
from edgec.lower.counts import counted
from edgec.lower.nest import Axis
from edgec.lower.values import Index, Value, View, fixed, is_one, view_of, viewed
from edgec.program.expr import INT, Expr, binary, cast, clamp, const, load, logical, select, unary, var
from edgec.program.program import Assign, Declare, For, Statement, Store

FEW = 3  # so many places, times the binary digits of the extent, are found one by one sooner than a whole row is sorted

Before = Callable[[Expr, Expr], Expr]


def top_k(lowering: Lowering, node: Node) -> None:
    """A call finds the places; values are taken from there."""
    source = lowering.shared(lowering.value(node.inputs[0]), node.inputs[0])
    axis, known = node.attributes["axis"], lowering.graph.constant(node.inputs[1])
    compared = source.coded.value if source.coded is not None else source  # codes rise with what they stand for
    shape = lowering.shape(node.outputs[0] or node.outputs[1])
    k = fixed(source.shape[axis]) if known is None else int(known.reshape(-1)[0])
    before = ordering(compared.dtype, bool(node.attributes["largest"]))
    about = Value(INT, shape, lambda index: const(0)).by(source, node=node.name, op=node.op)
    places = ranked(lowering, compared, axis, k, before, f"{node.outputs[0]}_places", about)

    if known is None:
        _count(lowering, node, shape[axis], k, about)

    def remap(index: Index) -> Index:
        return (*index[:axis], places.at(index), *index[axis + 1 :])

    lowering.define(node.outputs[0], movement.lift(source, lambda value: movement.remapped(value, shape, remap)))
    if node.outputs[1:]:
        lowering.define(node.outputs[1], Value(DType.INT64, shape, lambda index: cast(places.at(index), DType.INT64), free=True))


def _count(lowering: Lowering, node: Node, size: Expr, most: int, about: Value) -> None:
    """How many are wanted, at most as many as there are."""
    given = lowering.value(node.inputs[1])
    wanted = cast(given.at(tuple(const(0) for _ in given.shape)), DType.INT64)
    number = cast(clamp(wanted, const(0, DType.INT64), const(most, DType.INT64)), INT)
    lowering.loops([], [Store(counted(lowering, size), const(0), number)], f"{node.outputs[0]}_wanted", about)


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


def ranked(lowering: Lowering, source: Value, axis: int, k: int, before: Before, name: str, about: Value) -> Value:
    """The places on the axis of its first k elements, in order; one after the other, or by sorting all."""
    extent = fixed(source.shape[axis])
    few = k <= FEW * extent.bit_length()
    shape = tuple(const(k if few else extent) if d == axis else size for d, size in enumerate(source.shape))
    loops: list[Axis] = [(var(f"i{d}"), const(1) if d == axis else size) for d, size in enumerate(shape)]
    index = tuple(const(0) if is_one(size) else variable for variable, size in loops)
    row = Row(source, index, axis, extent, before)
    if few:
        places = lowering.places(name, shape, const(extent))
        body = _one_by_one(row, view_of(places), k)
    else:
        views = [view_of(lowering.places(f"{name}_{number}", shape, const(extent))) for number in range(2)]
        body, last = ordered(row, views, const(extent))
        places = viewed(views[last], tuple(const(k) if d == axis else size for d, size in enumerate(shape)))
    lowering.loops(loops, body, name, about)
    return places


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


def _one_by_one(row: Row, places: View, k: int) -> list[Statement]:
    """Each time the first of those that come after the last one that was found."""
    r, j, found, last = var("r"), var("j"), var("found"), var("last")
    seen, best, bound = (var(name, row.source.dtype) for name in ("seen", "best", "bound"))
    start = row.at(const(0))
    later = logical("or", row.before(bound, seen), logical("and", unary("not", row.before(seen, bound)), binary("lt", last, j)))
    free = logical("or", binary("eq", r, 0), later)
    taken = logical("and", free, logical("or", binary("lt", found, 0), row.before(seen, best)))
    take = var("take", DType.BOOL)
    look: tuple[Statement, ...] = (
        Declare(seen, row.at(j)), Declare(take, taken), Assign(best, select(take, seen, best)), Assign(found, select(take, j, found)),
    )  # fmt: skip
    turn: tuple[Statement, ...] = (
        Declare(found, const(-1), mutable=True), Declare(best, start, mutable=True), For(j, const(row.extent), look),
        Store(places.buffer, row.position(places, r), clamp(found, 0, row.extent - 1)), Assign(last, found), Assign(bound, best),
    )  # fmt: skip
    return [Declare(last, const(-1), mutable=True), Declare(bound, start, mutable=True), For(r, const(k), turn)]


def ordered(row: Row, views: Sequence[View], count: Expr, start: bool = True) -> tuple[list[Statement], int]:
    """Runs are merged to those of twice the length until one is left, in the other of two buffers each time; and in which that is.

    start: whether the first `count` places are all there are; else the first buffer has them already.
    """
    at, pair = var("at"), var("pair")
    body: list[Statement] = [For(at, count, (Store(views[0].buffer, row.position(views[0], at), at),))] if start else []
    width, side = 1, 0
    while width < row.extent:
        sides, whole, left = (views[side], views[1 - side]), binary("floordiv", count, 2 * width), binary("mod", count, 2 * width)
        if whole != const(0):
            body.append(For(pair, whole, _merged(row, sides, pair * (2 * width), const(width), const(2 * width), f"of_{width}")))
        if left != const(0):
            body += _merged(row, sides, whole * (2 * width), binary("min", left, width), left, f"end_{width}")
        width, side = 2 * width, 1 - side
    return body, side


def _merged(row: Row, sides: tuple[View, View], start: Expr, half: Expr, count: Expr, name: str) -> tuple[Statement, ...]:
    """From one side to the other `count` places from `start` on, of which `half` and the rest are in order each, in order."""
    source, target = sides
    i, j, o = var(f"i_{name}"), var(f"j_{name}"), var(f"o_{name}")
    first, second, later = var("first"), var("second"), var("later", DType.BOOL)
    a, b = (load(source.buffer, row.position(source, clamp(at, 0, row.extent - 1)), INT) for at in (i, j))
    more, out = binary("lt", j, start + count), binary("le", start + half, i)
    take = logical("and", more, logical("or", out, row.before(row.at(second), row.at(first))))
    step: tuple[Statement, ...] = (
        Declare(first, a), Declare(second, b), Declare(later, take),
        Store(target.buffer, row.position(target, clamp(start + o, 0, row.extent - 1)), select(later, second, first)),
        Assign(i, select(later, i, i + 1)), Assign(j, select(later, j + 1, j)),
    )  # fmt: skip
    return (Declare(i, start, mutable=True), Declare(j, start + half, mutable=True), For(o, count, step))
