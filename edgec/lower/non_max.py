"""NonMaxSuppression: of each class the boxes by falling score, without those that overlap one that was taken before."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.lower.builder import Lowering
from edgec.lower.compaction import placed, zeros
from edgec.lower.counts import counted
from edgec.lower.sorting import Row, ordered, ordering, turns, two_sides
from edgec.lower.values import Index, Value, View, chosen, fixed
from edgec.program.expr import (
    FLOAT,
    INT,
    Expr,
    Size,
    binary,
    bound,
    cast,
    clamp,
    const,
    load,
    logical,
    select,
    var,
)
from edgec.program.program import Assign, Declare, For, Statement, Store

WIDE = DType.INT64
Corners = tuple[Expr, Expr, Expr, Expr]  # least and largest on one axis, then on the other


@dataclass(frozen=True)
class _Search:
    """What is looked through, and where what was taken lies: the box, and class and sample as one number."""

    boxes: Value
    scores: Value
    kept: View
    group: View
    size: Size
    centered: bool

    @property
    def most(self) -> int:
        return self.size.bound


def non_max_suppression(lowering: Lowering, node: Node) -> None:
    """One call for everything: what is taken of a class depends on its boxes before, and where it goes on all classes before."""
    boxes, scores = (lowering.shared(lowering.value(name), name) for name in node.inputs[:2])
    samples, classes, count = fixed(scores.shape[0]), fixed(scores.shape[1]), bound(scores.shape[2])
    shape = lowering.shape(node.outputs[0])
    size = shape[0]
    assert isinstance(size, Size)
    name = node.outputs[0]
    kept, group = (
        placed(lowering, f"{name}_boxes", bound(size) + 1, count),
        placed(lowering, f"{name}_groups", bound(size) + 1, samples * classes),
    )
    search = _Search(boxes, scores, kept, group, size, bool(node.attributes["center_point_box"]))
    each = _each_class(lowering, node, search)
    total, b, c = var("total"), var("b"), var("c")
    body = (
        zeros(kept, bound(size) + 1), zeros(group, bound(size) + 1), Declare(total, const(0), mutable=True),
        For(b, const(samples), (For(c, const(classes), each),)), Store(counted(lowering, size), const(0), clamp(total, 0, bound(size))),
    )  # fmt: skip
    lowering.loops([], body, name, Value(WIDE, shape, lambda index: const(0, WIDE)).by(boxes, scores, node=node.name, op=node.op))

    def at(index: Index) -> Expr:
        place = group.at((index[0],))
        return cast(chosen(index[1], (binary("floordiv", place, classes), binary("mod", place, classes), kept.at((index[0],)))), WIDE)

    lowering.define(name, Value(WIDE, shape, at, free=True, order=(0, 1)))


def _number(lowering: Lowering, node: Node, index: int) -> Expr | None:
    """An operand of one number, None where it is absent."""
    if not node.input(index):
        return None
    value = lowering.value(node.input(index))
    return value.at(tuple(const(0) for _ in value.shape))


def _each_class(lowering: Lowering, node: Node, search: _Search) -> tuple[Statement, ...]:
    """The boxes whose score is high enough, in order, and of them those that are taken."""
    there = search.scores.shape[2]
    count = bound(there)
    b, c, i, m, total = var("b"), var("c"), var("i"), var("m"), var("total")
    strides = (const(0), const(0), const(1))  # of places, which are those of one class after the other
    row = Row(search.scores, (b, c, const(0)), 2, count, ordering(DType.FLOAT32, largest=True))
    one, other = two_sides(lowering, f"{node.outputs[0]}_order", (const(count),), there)
    sides = (replace(one, strides=strides), replace(other, strides=strides))
    last = sides[turns(count) % 2]
    least = _number(lowering, node, 4)
    enough = const(True) if least is None else binary("lt", least, row.at(i))
    gathered: tuple[Statement, ...] = (
        Store(sides[0].buffer, row.position(sides[0], clamp(m, 0, count - 1)), i), Assign(m, m + select(enough, const(1), const(0))),
    )  # fmt: skip
    candidates, before = var("candidates"), var("before")
    limit = lowering.graph.constant(node.input(2))
    given = _number(lowering, node, 2)
    assert given is not None
    most = (
        const(min(int(limit.reshape(-1)[0]), count)) if limit is not None else cast(clamp(given, const(0, WIDE), const(count, WIDE)), INT)
    )
    look = _look(search, row.position(last, i), last.buffer, most, _number(lowering, node, 3))
    return (
        Declare(m, const(0), mutable=True), For(i, there, gathered), Declare(candidates, clamp(m, 0, count)),
        *ordered(row, sides, candidates, const(count)),
        Declare(before, clamp(total, 0, search.most)), For(i, candidates, look),
    )  # fmt: skip


def _look(search: _Search, position: Expr, order: str, most: Expr, threshold: Expr | None) -> tuple[Statement, ...]:
    """One box: taken, where there is room and none that was taken of its class overlaps it."""
    b, c, total, before, s = var("b"), var("c"), var("total"), var("before"), var("s")
    place, room, hit, looked = var("place"), var("room"), var("hit"), var("looked")
    classes = fixed(search.scores.shape[1])
    limit = threshold if threshold is not None else const(np.float32(0).item())
    other = load(search.kept.buffer, clamp(before + s, 0, search.most), INT)
    mine, its = _corners(search, place, "mine"), _corners(search, other, "its")
    compared: tuple[Statement, ...] = (
        *its[0],
        Assign(hit, select(_overlaps(mine[1], its[1], limit), const(1), hit)),
    )  # fmt: skip
    here = clamp(total, 0, search.most)
    taken = logical("and", binary("lt", 0, room), binary("eq", hit, 0))
    return (
        Declare(place, load(order, position, INT)), *mine[0],
        Declare(room, select(binary("lt", total - before, most), const(1), const(0))), Declare(hit, const(0), mutable=True),
        Declare(looked, select(binary("eq", room, 1), clamp(total - before, 0, search.most), const(0))), For(s, looked, compared),
        Store(search.kept.buffer, here, place), Store(search.group.buffer, here, b * classes + c),
        Assign(total, total + select(taken, const(1), const(0))),
    )  # fmt: skip


def _corners(search: _Search, place: Expr, name: str) -> tuple[tuple[Statement, ...], Corners]:
    """The corners of a box, whichever are given, by axis: of its first pair of numbers and of its second."""
    numbers = [search.boxes.at((var("b"), place, const(number))) for number in range(4)]
    if search.centered:
        half = const(0.5, FLOAT)
        found = [end for at, size in ((0, 2), (1, 3)) for end in (numbers[at] - numbers[size] * half, numbers[at] + numbers[size] * half)]
    else:
        found = [
            end for one, other in ((0, 2), (1, 3)) for end in (_less(numbers[one], numbers[other]), _more(numbers[one], numbers[other]))
        ]
    names = [var(f"{name}_{number}", FLOAT) for number in range(4)]
    return tuple(Declare(variable, end) for variable, end in zip(names, found, strict=True)), (names[0], names[1], names[2], names[3])


def _less(a: Expr, b: Expr) -> Expr:
    return select(binary("lt", b, a), b, a)


def _more(a: Expr, b: Expr) -> Expr:
    return select(binary("lt", b, a), a, b)


def _overlaps(one: Corners, other: Corners, threshold: Expr) -> Expr:
    """Whether what two boxes share is more than this part of what they cover together; of boxes without an area it is not."""
    zero = const(0.0, FLOAT)
    sides = [(_more(one[a], other[a]), _less(one[a + 1], other[a + 1])) for a in (0, 2)]
    shared = (sides[0][1] - sides[0][0]) * (sides[1][1] - sides[1][0])
    areas = [(box[1] - box[0]) * (box[3] - box[2]) for box in (one, other)]
    both = areas[0] + areas[1] - shared
    positive: Expr = const(True)
    for low, high in (*sides, (zero, areas[0]), (zero, areas[1]), (zero, shared), (zero, both)):
        positive = logical("and", positive, binary("lt", low, high))
    return logical("and", positive, binary("lt", threshold, shared / both))
