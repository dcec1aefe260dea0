"""Loops that stay loops: a body is translated once, for a turn of which only a run knows which it is, where that is possible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from edgec.base.budget import check_tensors, spend_operations
from edgec.base.errors import ModelError
from edgec.frontend.control.conditional import as_condition, both, where
from edgec.frontend.control.foreseen import Foreseen, foresee
from edgec.frontend.translation.builder import Broken, Builder
from edgec.frontend.translation.source import Source
from edgec.ir.graph import Graph, Node
from edgec.ir.loop import LOOP
from edgec.ir.types import DType, TensorType
from edgec.ops.infer import infer_node
from edgec.ops.work import operations

LONGEST = 2**31 - 1  # turns that an int32 counts
FEW = 8  # turns that are written out: then they fold, and become one with what is around them


class Repeatable(Protocol):
    """What a turn does. It is begun once, by what no turn changes; `around`: the values that each turn reads."""

    def begin(self) -> None: ...

    def around(self) -> list[str]: ...

    def within(self, b: Builder) -> Repeatable: ...

    def run(self, inputs: Sequence[str]) -> list[str]: ...


Inputs = Callable[[Builder, str, Sequence[str]], Sequence[str]]  # of the body, by the turn's number and the states


@dataclass(frozen=True)
class Looped:
    """The states behind the last turn, and the rows of all turns, stacked on a new first axis. ragged: whether a run may not make all."""

    ends: list[str]
    stacks: list[str]
    ragged: bool


@dataclass
class Turn:
    """A body, translated for any turn: the names of its own graph.

    states: what it begins with, and `next` what it ends with. goes_on: whether another turn begins, "" where it does.
    """

    b: Builder
    number: str
    states: list[str]
    next: list[str]
    rows: list[str]
    goes_on: str

    @property
    def graph(self) -> Graph:
        return self.b.graph

    def still(self, firsts: Sequence[str]) -> dict[int, str]:
        """The places of states that no turn changes, as weights that exporters hand through a loop; and their first values."""
        same = {node.outputs[0]: node.inputs[0] for node in self.graph.nodes if node.op == "Identity"}
        pairs = zip(self.states, self.next, firsts, strict=True)
        return {place: first for place, (state, then, first) in enumerate(pairs) if state in (then, same.get(then))}

    def fits(self, firsts: Sequence[TensorType]) -> bool:
        """Whether every turn begins and ends with states of the same types, and makes rows of one type."""
        if any(name not in self.graph.types for name in (*self.next, *self.rows)):
            return False
        kinds = list(map(self.b.type, (*self.next, *self.rows)))
        unusual = any(kind.is_counted or 0 in kind.shape for kind in self.graph.types.values())
        return kinds[: len(firsts)] == list(firsts) and not unusual and self.b.texts.keys().isdisjoint((*self.next, *self.rows))


def keep(
    b: Builder, s: Source, body: Repeatable, most: float, states: Sequence[str], inputs: Inputs, condition: str = "", *,
    decides: bool = False, columns: Sequence[str] = (),
) -> Looped | None:  # fmt: skip
    """The loop as one node; None where it has few turns, where nothing in it is computed, or where each turn must be known by itself.

    condition: whether there is a first turn, "" where there is. decides: whether the body's first output says if there is another.
    columns: what `inputs` reads beside.
    """
    known = b.value(condition)
    if most <= FEW or (known is not None and not known.all()):
        return None
    condition = "" if known is not None or not condition else as_condition(b, s, condition)
    with where(b, s, condition):
        body.begin()
    around = list(dict.fromkeys((*body.around(), *columns)))
    if any(name not in b.graph.types for name in (*states, *around)):
        return None  # sequences, and what is nothing
    firsts = [b.single(name) for name in states]
    turn = _translated(b, s, body, firsts, around, inputs, decides)
    still = turn.still(firsts) if turn is not None else {}
    if still:
        turn = _translated(b, s, body, firsts, [*dict.fromkeys((*around, *still.values()))], inputs, decides, still)
    moving = [first for place, first in enumerate(firsts) if place not in still]
    looped = _kept(b, s, turn, most, moving, condition) if turn is not None else None
    if looped is None:
        return None
    ends = iter(looped.ends)
    return replace(looped, ends=[still[place] if place in still else next(ends) for place in range(len(firsts))])


def _kept(b: Builder, s: Source, turn: Turn, most: float, firsts: Sequence[str], condition: str) -> Looped | None:
    """The loop of this turn, placed; None as `keep` says. firsts: what the turn's states are before the first one."""
    given = {name: (b.value(first), then) for name, first, then in zip(turn.states, firsts, turn.next, strict=True)}
    ahead = foresee(turn.graph, turn.number, given, turn.goes_on, most)
    uncounted = bool(condition) and most > LONGEST  # is not written out, since only here it is known how often it runs at most
    if ahead is None or (ahead.turns <= FEW and not uncounted) or ahead.turns > LONGEST:
        return None
    if not (firsts or turn.rows):
        return Looped([], [], False)
    if not _computes(b, turn, firsts) or not (turn.rows or len(firsts) > len(ahead.tables)):
        return None
    if condition:  # with no turn at all states are what they were at first
        ahead = replace(ahead, tables={})
    return _Placing(b, s, turn, ahead, firsts).placed(condition)


def _computes(b: Builder, turn: Turn, firsts: Sequence[str]) -> bool:
    """Whether it reads anything that is not known."""
    return any(name not in b.graph.constants for name in (*firsts, *turn.graph.inputs[1 + len(firsts) :]))


def _translated(
    b: Builder, s: Source, body: Repeatable, firsts: Sequence[str], around: Sequence[str], inputs: Inputs, decides: bool,
    still: Mapping[int, str] | None = None,
) -> Turn | None:  # fmt: skip
    """A turn, whose states are those that turns change; None where its body is translated for one turn at a time only.

    still: the places of the others, and what they are: values around.
    """
    still, inner = still or {}, _inside(b, s, around)
    moving = {place: first for place, first in enumerate(firsts) if place not in still}
    number, fresh = inner.fresh(f"{s.name}/turn"), {place: inner.fresh(f"{s.name}/state") for place in moving}
    states = list(fresh.values())
    inner.graph.types |= {number: TensorType(DType.INT64, ()), **{fresh[place]: b.type(first) for place, first in moving.items()}}
    inner.kinds |= {fresh[place]: b.kinds[first] for place, first in moving.items() if first in b.kinds}
    inner.graph.inputs[:0] = [number, *states]
    given = [still.get(place) or fresh[place] for place in range(len(firsts))]
    try:
        found = [inner.single(name) if name in inner.graph.types else name for name in body.within(inner).run(inputs(inner, number, given))]
        goes_on = as_condition(inner, s, found[0]) if decides else ""
    except (Broken, ModelError):
        return None
    made = found[decides:]
    turn = Turn(inner, number, states, [made[place] for place in moving], made[len(firsts) :], goes_on)
    return turn if turn.fits(list(map(b.type, moving.values()))) else None


def _inside(b: Builder, s: Source, around: Sequence[str]) -> Builder:
    """A builder of a body's graph, which knows these values of the graph around: constants as such, others as inputs."""
    computed = [name for name in around if name not in b.graph.constants]
    known = {name: b.graph.constants[name] for name in around if name in b.graph.constants}
    graph = Graph(s.name, computed, constants=known, types={name: b.type(name) for name in around})
    return replace(
        b, graph=graph, problems=[], guard="", taken=set(b.taken), labels=dict(b.labels), serials=dict(b.serials), kinds=dict(b.kinds),
        broken=set(b.broken), lists=dict(b.lists), nothing=set(b.nothing), ragged=set(b.ragged), texts=dict(b.texts), singles={},
        notes=list(b.notes), believed=list(b.believed), misread=list(b.misread), channels={},
    )  # fmt: skip


class _Placing:
    """Puts a loop's node into the graph."""

    def __init__(self, b: Builder, s: Source, turn: Turn, ahead: Foreseen, firsts: Sequence[str]) -> None:
        self.b, self.s, self.turn, self.turns, self.settled, self.tables = b, s, turn, int(ahead.turns), ahead.settled, ahead.tables
        self.ends: dict[str, str] = {}  # of states that are known
        self.carried: list[tuple[str, str, str]] = []  # first, its name in the body, next
        for first, state, then in zip(firsts, turn.states, turn.next, strict=True):
            if state in self.tables:
                self.ends[state] = b.constant(f"{s.name}/{state}_end", self.tables[state][-1])
                self._look_up(state)
            else:
                self.carried.append((first, state, then))

    def _look_up(self, state: str) -> None:
        """A known state is read from a table of all turns."""
        table = self.turn.b.define(self.turn.b.fresh(f"{state}_values"), self.tables[state][:-1])
        first = next(iter(self.turn.graph.nodes), None)
        node = Node("Gather", [table, self.turn.number], [state], {"axis": 0}, self.turn.b.label(state))
        self.turn.graph.inputs.remove(state)
        self.turn.graph.insert(node, [self.turn.graph.types[state]], before=first)

    def placed(self, condition: str) -> Looped:
        """condition: a scalar that only a run knows, and "" for none."""
        b, s, turn, graph = self.b, self.s, self.turn, self.turn.graph
        start = both(b, s, b.guard, condition)
        goes_on = "" if self.settled else turn.goes_on
        if goes_on and not start:
            start = b.constant(f"{s.name}/begins", True, "bool")
        if start and not goes_on:
            goes_on = turn.b.constant(f"{s.name}/goes_on", True, "bool")
        for name in (*([goes_on] if start else []), *(then for _, _, then in self.carried), *turn.rows):
            graph.outputs.append(self._output(name))
        around = self._around()
        graph.inputs[:] = [turn.number, *(state for _, state, _ in self.carried), *around]
        ends, stacks = ([b.fresh(f"{s.name}/{what}") for _ in names] for what, names in (("end", self.carried), ("rows", turn.rows)))
        attributes = {"body": graph, "states": len(self.carried), "turns": self.turns}
        node = Node(LOOP, [start, *(first for first, _, _ in self.carried), *around], [*ends, *stacks], attributes, b.label(s.name))
        kinds = infer_node(b.graph, node)
        check_tensors(sum(kind.bytes for kind in kinds), s.where)
        b.graph.insert(node, kinds)
        spend_operations(operations(node, b.graph.types), s.where)
        self._tell(ends, stacks)
        found = dict(zip((state for _, state, _ in self.carried), ends, strict=True)) | self.ends
        return Looped([found[state] for state in turn.states], stacks, bool(condition) or not self.settled)

    def _output(self, name: str) -> str:
        """A value as an output of the body, which a node of its own makes."""
        graph, b = self.turn.graph, self.turn.b
        if graph.producer(name) is not None and name not in graph.outputs:
            return name
        made = b.fresh(f"{name}_again")
        graph.insert(Node("Identity", [name], [made], {}, b.label(made)), [graph.types[name]])
        return made

    def _around(self) -> list[str]:
        """What the body reads of the graph around it. It forgets the rest."""
        graph = self.turn.graph
        read = {name for node in graph.nodes for name in node.inputs}
        own = {self.turn.number, *(state for _, state, _ in self.carried)}
        for name in [name for name in graph.types if name not in read | own and (name in graph.constants or name in graph.inputs)]:
            graph.constants.pop(name, None)
            del graph.types[name]
        return [name for name in graph.inputs if name in read and name not in own]

    def _tell(self, ends: Sequence[str], stacks: Sequence[str]) -> None:
        """What the body's builder has learned, the graph's shall know."""
        b, inner = self.b, self.turn.b
        b.taken.update(inner.taken)
        b.labels.update(inner.labels)
        b.serials.update(inner.serials)
        b.notes[:], b.believed[:], b.misread[:] = inner.notes, inner.believed, inner.misread
        for name, origin in zip((*ends, *stacks), (*(then for _, _, then in self.carried), *self.turn.rows), strict=True):
            if origin in inner.kinds:
                b.kinds[name] = inner.kinds[origin]
