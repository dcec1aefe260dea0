"""If and Loop: a branch that is taken, a choice of what both branches make, a loop's node, or its turns one behind the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from edgec.base.budget import check_turns, spend_node
from edgec.base.errors import ModelError
from edgec.frontend.control.body import Body
from edgec.frontend.control.conditional import as_condition, both, choose, constants_behind, decided_by, hand_on, where
from edgec.frontend.control.loop import keep
from edgec.frontend.control.stacks import counted, misfit, stack
from edgec.frontend.translation.builder import Broken, Builder
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source

_LEAVE = "leave the branch out"


@rule("If")
def branch(b: Builder, s: Source) -> None:
    """The branch that a known condition takes; else what both make, and the condition chooses."""
    condition = as_condition(b, s, s.inputs[0])
    wanted = [place for place, name in enumerate(s.outputs) if name]
    graphs = [s.attributes[name] for name in ("then_branch", "else_branch")]
    if any(len(graph.output) < len(s.outputs) for graph in graphs):
        raise ModelError(f"has {len(s.outputs)} outputs, its branches {' and '.join(str(len(graph.output)) for graph in graphs)}")
    known = b.value(condition)
    results = []
    for graph, holds in zip(graphs, (True, False), strict=True):
        if known is not None and bool(known.item()) is not holds:
            continue
        when = "" if known is not None else condition if holds else b.emit(s, "Not", [condition])[0]
        before = len(b.problems)
        try:
            with where(b, s, when):
                found = Body(b, s, graph, wanted).run([], into=[s.outputs[place] for place in wanted] if known is not None else ())
        except Broken:
            if when:
                _blame_condition(b, condition, before)
            raise
        results.append(found)
    for place, values in zip(wanted, zip(*results, strict=True), strict=True):
        hand_on(b, s, values[0] if len(values) == 1 else choose(b, s, condition, *values), s.outputs[place])


def _blame_condition(b: Builder, condition: str, start: int) -> None:
    """What is wrong in a branch may be so because it is not meant to run: where inputs decide that, say how to decide it.

    Of branches in branches the innermost says it.
    """
    constants = constants_behind(b, condition)
    for place, item in enumerate(b.problems[start:] if constants else (), start):
        if _LEAVE not in item.hint:
            b.problems[place] = replace(item, hint=f"{item.hint}, or {_LEAVE}: {constants}" if item.hint else f"{_LEAVE}: {constants}")


@rule("Loop")
def loop(b: Builder, s: Source) -> None:
    """As one node where it has more than a few turns, else one turn behind the other."""
    graph, states = s.attributes["body"], list(s.inputs[2:])
    if len(graph.input) != len(states) + 2 or len(graph.output) < 1 + max(len(states), len(s.outputs)):
        raise misfit(graph)
    stacked = [place for place, name in enumerate(s.outputs) if place >= len(states) and name]
    wanted = [*range(len(states) + 1), *(place + 1 for place in stacked)]
    body, most = Body(b, s, graph, wanted), _most_turns(b, s)
    kept = keep(b, s, body, most, states, lambda inner, turn, now: [turn, _holds(inner, s), *now], s.input(1), decides=True)
    if kept is None:
        _write_out(b, s, body, most, stacked)
        return
    outputs = [*s.outputs[: len(states)], *(s.outputs[place] for place in stacked)]
    for value, output in zip((*kept.ends, *kept.stacks), outputs, strict=len(s.outputs) >= len(states)):
        hand_on(b, s, value, output)
    b.ragged |= {s.outputs[place] for place in stacked} if kept.ragged else set()


def _write_out(b: Builder, s: Source, body: Body, most: float, stacked: Sequence[int]) -> None:
    """One turn behind the other, as long as it is known that there is one; behind a condition that is computed while the model runs each
    turn counts only where it holds, and rows of a turn that does not are 0."""
    states = list(s.inputs[2:])
    rows: list[list[str]] = [[] for _ in stacked]
    condition, active, turn, settled = s.input(1), "", 0, body.repeats(0, 1)
    while turn < most:
        known = b.value(condition) if condition else np.array(True)
        if known is None:
            active = both(b, s, active, as_condition(b, s, condition))
            check_turns(most, body.nodes, s.where)
        elif not known.reshape(-1).all():
            break
        elif turn and settled:
            check_turns(most - turn, body.nodes, s.where)
        spend_node(s.where)
        with where(b, s, active):
            found = body.run([b.constant(f"{s.outputs[0]}_turn", turn), _holds(b, s), *states], f"{turn}/")
        condition, fresh, made = found[0], found[1 : len(states) + 1], found[len(states) + 1 :]
        states = [choose(b, s, active, new, old) if active else new for new, old in zip(fresh, states, strict=True)]
        for column, row in zip(rows, made, strict=True):
            column.append(counted(b, s, active, row))
        turn += 1
    for value, output in zip(states, s.outputs, strict=False):
        hand_on(b, s, value, output)
    for place, column in zip(stacked, rows, strict=True):
        stack(b, s, column, 0, s.outputs[place], s.attributes["body"].output[place + 1])
        b.ragged |= {s.outputs[place]} if active else set()


def _holds(b: Builder, s: Source) -> str:
    return b.constant(f"{s.outputs[0]}_condition", True, "bool")


def _most_turns(b: Builder, s: Source) -> float:
    if not s.input(0):
        return math.inf
    count = b.value(s.inputs[0])
    if count is None:
        raise ModelError("how many iterations it has is computed while the model runs", hint=decided_by(b, s.inputs[0]))
    if count.size != 1:
        raise ModelError(f"its trip count has {count.size} elements, must have one")
    return int(count.reshape(-1)[0])
