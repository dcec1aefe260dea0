"""TopK: where the largest or smallest elements of each row are. What is equal goes by its place; NaN is larger than any number."""

from __future__ import annotations

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.lower import movement
from edgec.lower.builder import Lowering
from edgec.lower.counts import counted
from edgec.lower.nest import Axis
from edgec.lower.sorting import Before, Row, ordered, ordering, turns, two_sides
from edgec.lower.values import Index, Value, View, is_one, view_of, viewed
from edgec.program.expr import INT, Const, Expr, Size, binary, bound, cast, clamp, const, logical, select, unary, var
from edgec.program.program import Assign, Declare, For, Statement, Store

FEW = 3  # so many places, times the binary digits of the extent, are found one by one sooner than a whole row is sorted


def top_k(lowering: Lowering, node: Node) -> None:
    """A call finds the places; values are taken from there."""
    source = lowering.shared(lowering.value(node.inputs[0]), node.inputs[0])
    axis, known = node.attributes["axis"], lowering.graph.constant(node.inputs[1])
    compared = source.coded.value if source.coded is not None else source  # codes rise with what they stand for
    shape, extent = lowering.shape(node.outputs[0] or node.outputs[1]), source.shape[axis]
    k = shape[axis]
    before = ordering(compared.dtype, bool(node.attributes["largest"]))
    about = Value(INT, shape, lambda index: const(0)).by(source, node=node.name, op=node.op)
    if known is None and isinstance(k, Size) and k.name not in lowering.program.counts:
        _count(lowering, node, k, extent, about)
    if known is not None and isinstance(extent, Size):
        _check(lowering, node, k, extent, about)
    places = ranked(lowering, compared, axis, k, before, f"{node.outputs[0]}_places", about)

    def remap(index: Index) -> Index:
        return (*index[:axis], places.at(index), *index[axis + 1 :])

    lowering.define(node.outputs[0], movement.lift(source, lambda value: movement.remapped(value, shape, remap)))
    if node.outputs[1:]:
        lowering.define(node.outputs[1], Value(DType.INT64, shape, lambda index: cast(places.at(index), DType.INT64), free=True))


def _count(lowering: Lowering, node: Node, size: Size, most: Expr, about: Value) -> None:
    """How many are wanted, at most as many as there are."""
    given = lowering.value(node.inputs[1])
    wanted = cast(given.at(tuple(const(0) for _ in given.shape)), DType.INT64)
    number = cast(binary("min", binary("max", wanted, const(0, DType.INT64)), cast(most, DType.INT64)), INT)
    lowering.loops([], [Store(counted(lowering, size), const(0), number)], f"{node.outputs[0]}_wanted", about)


def _check(lowering: Lowering, node: Node, k: Expr, extent: Size, about: Value) -> None:
    """Fewer than are wanted end the run, as an index does that is out of range."""
    few = lowering.buffer(f"{node.outputs[0]}_few", INT, const(1))
    store = Store(few, const(0), select(binary("lt", extent, k), const(1), const(0)))
    lowering.loops([], [store], f"{node.outputs[0]}_enough", about, outside=few)


def ranked(lowering: Lowering, source: Value, axis: int, k: Expr, before: Before, name: str, about: Value) -> Value:
    """The places on the axis of its first k elements, in order; one after the other, or by sorting all."""
    extent = source.shape[axis]
    few = isinstance(extent, Const) and bound(k) <= FEW * bound(extent).bit_length()
    shape = tuple(k if d == axis else size for d, size in enumerate(source.shape))
    loops: list[Axis] = [(var(f"i{d}"), const(1) if d == axis else size) for d, size in enumerate(shape)]
    index = tuple(const(0) if is_one(size) else variable for variable, size in loops)
    row = Row(source, index, axis, bound(extent), before)
    if few:
        places = lowering.places(name, shape, extent)
        body = _one_by_one(row, view_of(places), k)
    else:
        sides = two_sides(lowering, name, tuple(extent if d == axis else size for d, size in enumerate(shape)), extent)
        at = var("at")
        start = For(at, extent, (Store(sides[0].buffer, row.position(sides[0], at), at),))
        body = [start, *ordered(row, sides, extent, k)]
        places = viewed(sides[turns(row.extent) % 2], shape)
    lowering.loops(loops, body, name, about)
    return places


def _one_by_one(row: Row, places: View, k: Expr) -> list[Statement]:
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
    return [Declare(last, const(-1), mutable=True), Declare(bound, start, mutable=True), For(r, k, turn)]
