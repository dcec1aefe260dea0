"""Loops: the calls of a body, run in turns, between one call that begins the first turn and one that ends each.

What a loop carries from turn to turn lies in memory of its own. A turn reads it there, and overwrites it when all else of the turn is done;
a row is written to its place among those of all turns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from edgec.integer import match
from edgec.ir.loop import Loop
from edgec.ir.types import DType
from edgec.lower.branches import Guard, guard_calls
from edgec.lower.builder import Lowering, split_axes
from edgec.lower.code_products import with_code_products
from edgec.lower.comment import tensor
from edgec.lower.values import Value, View, order_of, row_major, store, view_of
from edgec.lower.whole_product import with_float_products
from edgec.program.expr import INT, Expr, Load, binary, cast, const, load, logical, select
from edgec.program.program import Buffer, Call, Kind, LoopCall, Repeat, Statement, Store
from edgec.program.walk import distinct, loads, stores

LowerNodes = Callable[[Lowering], Mapping[str, frozenset[Guard]]]


def repeat(lowering: Lowering, loop: Loop, lower_nodes: LowerNodes) -> None:
    """A loop with its body. lower_nodes: what lowers the nodes of a graph."""
    made = Repeated(lowering, loop)
    made.begin()
    first = len(lowering.program.calls)
    guards = lower_nodes(made.inner)
    if lowering.problems:
        return
    made.end_turn()
    guard_calls(made.inner, guards, first)
    made.enclose(first)
    for name, value in zip(loop.node.outputs, (*made.states, *made.stacks), strict=True):
        lowering.define(name, value)


@dataclass(frozen=True)
class Change:
    """What a state becomes at the end of a turn: its memory, the new value, and the buffers that computing it reads."""

    state: Value
    value: Value
    reads: frozenset[str]

    @property
    def place(self) -> str:
        return view_of(self.state).buffer

    def direct(self, others: Sequence[Change]) -> bool:
        """Whether it may be computed where the old one lies: each element reads its own place of that alone, and no other state any."""
        _, index = split_axes(self.value, order_of(view_of(self.state), self.state.shape))
        here = store(self.state, index, self.value.at(index))
        own = all(item.index == here.index for item in distinct([here.value]) if isinstance(item, Load) and item.buffer == self.place)
        return own and all(self.place not in other.reads for other in others if other is not self)


class Repeated:
    """A loop while it is lowered."""

    def __init__(self, lowering: Lowering, loop: Loop) -> None:
        self.outer, self.loop = lowering, loop
        body = with_float_products(with_code_products(loop.body))
        self.inner, self.title = lowering.inner(body, match(body)), loop.node.name or loop.node.outputs[0]
        self.name = lowering.identifier(self.title)
        turn, goes_on = self._number("turn", below=loop.turns), self._number("goes_on")
        self.repeat = Repeat(loop.turns, turn, goes_on, bool(loop.condition))
        self.turn = load(self.repeat.turn, const(0), INT)
        self.states = [self._carried(name, inner) for name, inner in zip(loop.lasts, loop.states, strict=True)]
        self.stacks = [self._stack(name) for name in loop.stacks]

    def _number(self, what: str, below: int | None = None) -> str:
        name = self.outer.identifier(f"{self.title}_{what}")
        self.outer.program.buffers[name] = Buffer(name, INT, const(1), Kind.ARENA, below=None if below is None else const(below))
        return name

    def _carried(self, name: str, inner: str) -> Value:
        """Memory for a state, in the order in which the body likes to read it."""
        shape = self.outer.shape(name)
        plain = Value(self.outer.graph.dtype(name), shape, lambda index: const(0))
        return self.outer.dense(inner, plain.dtype, shape, self.inner.preferred(plain, inner) or row_major(len(shape)))

    def _stack(self, name: str) -> Value:
        shape = self.outer.shape(name)
        return self.outer.place(name, self.outer.graph.dtype(name), shape, row_major(len(shape)))

    # Before the first turn

    def begin(self) -> None:
        """The first states, what the body reads of the graph around it, and the call that begins."""
        loop, lowering, dtype = self.loop, self.outer, self.outer.graph.dtype
        for name, state in zip(loop.firsts, self.states, strict=True):
            lowering.materialize(lowering.value(name), name, into=view_of(state))
        for name, stack in zip(loop.stacks, self.stacks, strict=True):
            if loop.condition:  # rows of turns that do not begin
                kind = dtype(name)
                lowering.materialize(Value(kind, stack.shape, lambda index, kind=kind: const(0, kind)), name, into=view_of(stack))  # type: ignore[misc]
        for name, inner in zip(loop.around, loop.read, strict=True):
            lowering.values[name] = lowering.shared(lowering.value(name), name)
            self.inner.values[inner] = replace(lowering.values[name], coded=None)
        self.inner.values |= dict(zip(loop.states, self.states, strict=True))
        self.inner.values[loop.turn] = Value(DType.INT64, (), lambda index: cast(self.turn, DType.INT64), free=True)
        begins = [Store(self.repeat.turn, const(0), const(0))]
        if loop.condition:
            begins.append(Store(self.repeat.goes_on, const(0), cast(lowering.value(loop.condition).at(()), INT)))
        shown = ", ".join(tensor(dtype(name), lowering.shape(name)) for name in loop.node.outputs)
        times = f"up to {loop.turns}" if loop.condition else f"{loop.turns}"
        self._call("begins", begins, f'Loop  ONNX "{self.title}"  {times} turns of what follows -> {shown}', (self.title,))

    # In a turn

    def end_turn(self) -> None:
        """The rows, the next states, and the call that ends the turn."""
        loop, inner = self.loop, self.inner
        for name, stack in zip(loop.rows, self.stacks, strict=True):
            inner.materialize(inner.value(name), name, into=self._row(stack))
        goes_on: Expr = binary("lt", self.turn, loop.turns - 1)
        if loop.condition:
            held = inner.materialize(inner.value(loop.goes_on), loop.goes_on)
            goes_on = logical("and", goes_on, held.at(()))
        self._change_states()
        ends = [
            Store(self.repeat.goes_on, const(0), select(goes_on, const(1), const(0))),
            Store(self.repeat.turn, const(0), binary("min", self.turn + 1, loop.turns - 1)),
        ]
        self._call("ends", ends, f'the end of a turn of "{self.title}"', ())

    def _row(self, stack: Value) -> View:
        view = view_of(stack)
        return View(view.buffer, view.dtype, view.offset + self.turn * view.strides[0], view.strides[1:])

    def _change_states(self) -> None:
        """Those first that cannot be computed where they will lie: beside it, and then copied."""
        values = [self.inner.value(name) for name in self.loop.next]
        changes = [Change(*item, _reads(item[1])) for item in zip(self.states, values, strict=True)]
        beside = [item for item in changes if not item.direct(changes)]
        stored = [(item, self.inner.materialize(item.value, self._beside(item))) for item in beside]
        for item in changes:
            if item not in beside and item.value is not item.state:
                self.inner.materialize(item.value, self._beside(item), into=view_of(item.state))
        for item, value in stored:
            self.inner.materialize(value, self._beside(item), into=view_of(item.state))

    def _beside(self, item: Change) -> str:
        return f"{item.place}_next"

    # All of it

    def enclose(self, first: int) -> None:
        """Let the calls from that one on be those of a turn."""
        calls = self.outer.program.calls
        self.outer.program.repeats[self.name] = self.repeat
        for number, call in enumerate(calls[first:], first):
            about = replace(call.call, within=(self.name, *call.call.within), macs=call.call.macs * self.loop.turns)
            calls[number] = replace(call, call=about)

    def _call(self, what: str, body: Sequence[Statement], comment: str, nodes: tuple[str, ...]) -> None:
        program = self.outer.program
        title = f"%{len(program.calls)} = {comment}"
        call = Call(self.outer.identifier(f"{self.name}_{what}"), nodes, (title,), loads(body), stores(body), 0)
        program.calls.append(LoopCall(call, tuple(body), False))


def _reads(value: Value) -> frozenset[str]:
    _, index = split_axes(value, row_major(value.rank))
    return frozenset(item.buffer for item in distinct([value.at(index)]) if isinstance(item, Load))
