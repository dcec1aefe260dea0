"""Unique: each element, or each slice along an axis, belongs to the first one that is equal; the groups go by size or by that place."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.lower import movement
from edgec.lower.builder import Lowering
from edgec.lower.compaction import placed, zeros
from edgec.lower.counts import counted
from edgec.lower.sorting import ordering
from edgec.lower.values import Index, Value, View, digits, fixed
from edgec.program.expr import INT, Expr, binary, cast, clamp, const, load, logical, select, var
from edgec.program.program import Assign, Declare, For, Statement, Store


@dataclass(frozen=True)
class _Slices:
    """The tensor as `count` slices of `size` elements each."""

    source: Value
    axis: int

    @property
    def count(self) -> int:
        return fixed(self.source.shape[self.axis])

    @property
    def others(self) -> list[int]:
        return [fixed(extent) for d, extent in enumerate(self.source.shape) if d != self.axis]

    def at(self, place: Expr, element: Expr) -> Expr:
        index: Index = digits(element, self.others)
        return self.source.at((*index[: self.axis], place, *index[self.axis :]))

    def compared(self, one: Expr, other: Expr) -> tuple[tuple[Statement, ...], Expr]:
        """Statements, and a number that is 0 where two slices are equal, 1 where the first comes first, else 2."""
        element, state, a, b = var("element"), var("state"), var("a", self.source.dtype), var("b", self.source.dtype)
        before = ordering(self.source.dtype, largest=False)
        found = select(before(a, b), const(1), select(before(b, a), const(2), const(0)))
        look: tuple[Statement, ...] = (
            Declare(a, self.at(one, element)), Declare(b, self.at(other, element)),
            Assign(state, select(binary("eq", state, 0), found, state)),
        )  # fmt: skip
        return (Declare(state, const(0), mutable=True), For(element, const(prod(self.others)), look)), state


def unique(lowering: Lowering, node: Node) -> None:
    """One call finds of each slice the first equal one, the number of its group, of each group its first and how many it has."""
    source, axis = lowering.shared(lowering.value(node.inputs[0]), node.inputs[0]), node.attributes["axis"]
    slices, name = _Slices(source, axis), node.outputs[0]
    count, shape = slices.count, lowering.shape(name)
    head, group, first = (placed(lowering, f"{name}_{what}", count, count) for what in ("heads", "groups", "firsts"))
    members = View(lowering.buffer(f"{name}_members", INT, const(count)), INT, const(0), (const(1),))
    i, n = var("i"), var("n")
    number = load(group.buffer, i, INT)
    body: list[Statement] = [
        *(zeros(view, count) for view in (head, group, first, members)), For(i, const(count), _find_head(slices, head)),
        Declare(n, const(0), mutable=True), For(i, const(count), _find_group(slices, head, group, first, bool(node.attributes["sorted"]))),
        For(i, const(count), (Store(members.buffer, number, load(members.buffer, number, INT) + 1),)),
        Store(counted(lowering, shape[axis]), const(0), clamp(n, 0, count)),
    ]  # fmt: skip
    lowering.loops([], body, name, Value(INT, shape, lambda index: const(0)).by(source, node=node.name, op=node.op))
    places = Value(INT, (shape[axis],), first.at, free=True, order=(0,))
    lowering.define(name, movement.lift(source, lambda value: movement.take(value, axis, places, shape)))
    for output, view in zip(node.outputs[1:], (first, group, members), strict=False):
        if output:
            lowering.define(output, _wide(view, lowering.shape(output)))


def _wide(view: View, shape: tuple[Expr, ...]) -> Value:
    return Value(DType.INT64, shape, lambda index: cast(view.at(index), DType.INT64), free=True, order=(0,))


def _find_head(slices: _Slices, head: View) -> tuple[Statement, ...]:
    i, j, h = var("i"), var("j"), var("h")
    statements, state = slices.compared(j, i)
    same = logical("and", binary("eq", state, 0), binary("lt", j, h))
    look = (*statements, Assign(h, select(same, j, h)))
    return (Declare(h, i, mutable=True), For(j, i, look), Store(head.buffer, i, clamp(h, 0, slices.count - 1)))


def _find_group(slices: _Slices, head: View, group: View, first: View, in_order: bool) -> tuple[Statement, ...]:
    """Of a head the number of heads before it; of the others that of their head, which they follow."""
    i, j, rank, mine, n = var("i"), var("j"), var("rank"), var("mine"), var("n")
    statements, state = slices.compared(j, i) if in_order else ((), var("state"))
    earlier = binary("eq", state, 1) if in_order else binary("lt", j, i)
    is_head = binary("eq", load(head.buffer, j, INT), j)
    look = (*statements, Assign(rank, rank + select(logical("and", is_head, earlier), const(1), const(0))))
    new = var("new", DType.BOOL)
    return (
        Declare(mine, load(head.buffer, i, INT)), Declare(new, binary("eq", mine, i)), Declare(rank, const(0), mutable=True),
        For(j, const(slices.count), look),
        Store(group.buffer, i, select(new, clamp(rank, 0, slices.count - 1), load(group.buffer, mine, INT))),
        Store(first.buffer, load(group.buffer, i, INT), mine), Assign(n, n + select(new, const(1), const(0))),
    )  # fmt: skip
