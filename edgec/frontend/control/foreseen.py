"""What a loop's turns are known to do before any runs: states that depend on the number of the turn alone, and a condition on these.

A counter beside the turn's number, a position that grows, a condition that compares them: exporters write them where a loop's trip count
would say it all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from edgec.base.budget import spend_constant, spend_node
from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import NEVER_FOLDED
from edgec.ir.graph import Graph, Node
from edgec.ir.loop import LOOP
from edgec.ops.evaluate import evaluate, has_types

MOST = 100_000  # turns of which states are known where no condition ends them


@dataclass(frozen=True)
class Foreseen:
    """turns: how many there are, or, where that is not settled, at most.

    tables: of each known state its values at the beginning of all turns, and behind the last.
    """

    turns: float
    settled: bool
    tables: Mapping[str, np.ndarray]


def foresee(graph: Graph, turn: str, states: Mapping[str, tuple[np.ndarray | None, str]], goes_on: str, most: float) -> Foreseen | None:
    """graph: a body. states: by their names in it the first value where it is known, and the next. goes_on: whether another turn begins,
    "" where it does. None where known states change their type, or are too many.
    """
    firsts = {name: first for name, (first, _) in states.items() if first is not None}
    unknown = _unknown(graph, turn, firsts)
    while changed := [name for name in firsts if states[name][1] in unknown]:
        for name in changed:
            del firsts[name]
        unknown = _unknown(graph, turn, firsts)
    decided = bool(goes_on) and goes_on not in unknown
    settled = decided or not goes_on
    if decided and goes_on in graph.constants:
        most, decided = (most if graph.constants[goes_on].all() else min(most, 1)), False
    if not settled or not (firsts or decided):
        return Foreseen(most, settled, {})
    if not decided and most > MOST:
        return None
    wanted = {*(states[name][1] for name in firsts), *([goes_on] if decided else [])}
    nodes = _needed(graph, wanted)
    try:
        rows = list(_rows(graph, nodes, turn, firsts, states, goes_on if decided else "", most))
        tables = {name: np.stack([row[name] for row in rows]) for name in firsts}
    except (ModelError, ValueError):
        return None
    return Foreseen(len(rows) - 1, settled, tables)


def _unknown(graph: Graph, turn: str, known: Mapping[str, object]) -> set[str]:
    """What does not depend on the turn's number and these states alone."""
    found = set(graph.inputs) - {turn} - known.keys()
    for node in graph.nodes:
        if node.op == LOOP or node.op in NEVER_FOLDED or not found.isdisjoint(node.inputs):
            found.update(node.outputs)
    return found


def _needed(graph: Graph, wanted: set[str]) -> list[Node]:
    wanted, found = set(wanted), []
    for node in reversed(graph.nodes):
        if not wanted.isdisjoint(node.outputs):
            wanted.update(node.inputs)
            found.append(node)
    return found[::-1]


def _rows(
    graph: Graph, nodes: list[Node], turn: str, firsts: Mapping[str, np.ndarray], states: Mapping[str, tuple[np.ndarray | None, str]],
    goes_on: str, most: float,
) -> Iterator[Mapping[str, np.ndarray]]:  # fmt: skip
    """The states before each turn, and behind the last."""
    now, number = dict(firsts), 0
    yield now
    while number < most:
        values = {**graph.constants, **now, turn: np.array(number, np.int64)}
        for node in nodes:
            spend_node(f"{node.name} ({node.op})")
            arrays = evaluate(node, [values[name] if name else None for name in node.inputs])
            if not has_types(arrays, [graph.types[name] for name in node.outputs if name]):
                raise ModelError("the reference computes something of another type")
            values.update(zip(node.outputs, arrays, strict=False))
        now, number = {name: np.asarray(values[states[name][1]]) for name in firsts}, number + 1
        spend_constant(sum(array.nbytes for array in now.values()), f"turn {number}")
        yield now
        if goes_on and not values[goes_on].all():
            return
