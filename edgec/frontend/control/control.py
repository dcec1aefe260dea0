"""If, Loop and Scan as straight nodes: a branch that is taken, turns one behind the other, a choice of what both branches make."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import onnx

from edgec.base.budget import check_turns, spend_constant, spend_node
from edgec.base.errors import ModelError
from edgec.frontend.control.body import Body
from edgec.frontend.control.conditional import as_condition, both, choose, constants_behind, decided_by, hand_on, where
from edgec.frontend.translation.builder import Broken, Builder
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.ops.proto import coded_type
from edgec.ops.rules import axis_of, fixed

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
    """One turn behind the other, as long as it is known that there is one; behind a condition that is computed while the model runs each
    turn counts only where it holds, and rows of a turn that does not are 0."""
    graph, states = s.attributes["body"], list(s.inputs[2:])
    if len(graph.input) != len(states) + 2 or len(graph.output) < 1 + max(len(states), len(s.outputs)):
        raise _misfit(graph)
    wanted = [*range(len(states) + 1), *(place + 1 for place, name in enumerate(s.outputs) if place >= len(states) and name)]
    body, most = Body(b, s, graph, wanted), _most_turns(b, s)
    rows: list[list[str]] = [[] for _ in wanted[len(states) + 1 :]]
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
            holds = b.constant(f"{s.outputs[0]}_condition", True, "bool")
            found = body.run([b.constant(f"{s.outputs[0]}_turn", turn), holds, *states], f"{turn}/")
        condition, fresh, made = found[0], found[1 : len(states) + 1], found[len(states) + 1 :]
        states = [choose(b, s, active, new, old) if active else new for new, old in zip(fresh, states, strict=True)]
        for column, row in zip(rows, made, strict=True):
            column.append(_counted(b, s, active, row))
        turn += 1
    for value, output in zip(states, s.outputs, strict=False):
        hand_on(b, s, value, output)
    for place, column in zip(wanted[len(states) + 1 :], rows, strict=True):
        _stack(b, s, column, 0, s.outputs[place - 1], graph.output[place])
        b.ragged |= {s.outputs[place - 1]} if active else set()


def _misfit(graph: onnx.GraphProto) -> ModelError:
    return ModelError(f"its body has {len(graph.input)} inputs and {len(graph.output)} outputs, which does not fit the node")


def _most_turns(b: Builder, s: Source) -> float:
    if not s.input(0):
        return math.inf
    count = b.value(s.inputs[0])
    if count is None:
        raise ModelError("how many iterations it has is computed while the model runs", hint=decided_by(b, s.inputs[0]))
    if count.size != 1:
        raise ModelError(f"its trip count has {count.size} elements, must have one")
    return int(count.reshape(-1)[0])


def _counted(b: Builder, s: Source, active: str, row: str) -> str:
    if not active:
        return row
    zero = b.constant(f"{s.outputs[0]}_zero", 0, b.type(row).dtype.value)
    return b.emit(s, "Where", [active, row, zero])[0]


def _stack(b: Builder, s: Source, rows: Sequence[str], axis: int, output: str, declared: onnx.ValueInfoProto) -> None:
    """The rows along a new axis; no rows at all have the declared type."""
    if not rows:
        tensor = declared.type.tensor_type
        if not tensor.elem_type:
            raise ModelError(f"has no iterations, and does not say what {declared.name} would be")
        shape = [dim.dim_value for dim in tensor.shape.dim]
        shape.insert(axis_of(axis, len(shape) + 1), 0)
        b.define(output, np.zeros(shape, coded_type(tensor.elem_type).numpy))
        return
    where_to = b.constant(f"{s.outputs[0]}_axis", [axis])
    b.emit(s, "Concat", [b.emit(s, "Unsqueeze", [row, where_to])[0] for row in rows], [output], {"axis": axis})


@rule("Scan")
def scan(b: Builder, s: Source) -> None:
    """One turn for each place on the axes that are scanned. Before version 9 the first axis of everything counts sequences."""
    count = s.attributes["num_scan_inputs"]
    given = s.inputs if s.version >= 9 else s.inputs[1:]
    states, columns = list(given[: len(given) - count]), list(given[len(given) - count :])
    graph = s.attributes["body"]
    if not 1 <= count <= len(given) or len(graph.input) != len(given) or len(graph.output) < max(len(s.outputs), len(states)):
        raise _misfit(graph)
    body = Body(b, s, graph, range(max(len(s.outputs), len(states))))
    if s.version >= 9:
        ends, made = _scanned(b, s, body, states, columns, None)
        for value, output in zip(ends, s.outputs, strict=False):
            hand_on(b, s, value, output)
        axes = _axes(s, "scan_output_axes", len(made))
        for place, (rows, axis) in enumerate(zip(made, axes, strict=True), len(states)):
            _stack(b, s, rows, axis, s.outputs[place], graph.output[place])
    else:
        _scan_sequences(b, s, body, states, columns)


def _scan_sequences(b: Builder, s: Source, body: Body, states: list[str], columns: list[str]) -> None:
    """Version 8: each sequence by itself, as far as its length says; rows behind its end are 0."""
    batch, longest = (fixed(extent, "an axis of Scan") for extent in b.shape(columns[0])[:2])
    lengths = b.known(s, 0, "the list of lengths") if s.input(0) else [longest] * batch
    if len(lengths) != batch or not all(1 <= length <= longest for length in lengths):
        raise ModelError(f"the lengths {lengths[:8]} do not fit {batch} sequences of {longest}")
    made: list[list[str]] = []
    for number, length in enumerate(lengths):
        firsts, parts = ([_taken(b, s, x, 0, number) for x in values] for values in (states, columns))
        ends, rows = _scanned(b, s, body, firsts, parts, length)
        for column in rows:
            kind = b.type(column[0])
            spend_constant(kind.bytes, s.where)
            column += [b.constant(f"{s.outputs[0]}_rest", np.zeros(kind.static_shape, kind.dtype.numpy))] * (longest - length)
        joined = [b.fresh(f"{s.outputs[0]}_rows") for _ in rows]
        for name, column in zip(joined, rows, strict=True):
            _stack(b, s, column, 0, name, onnx.ValueInfoProto())
        made.append([*ends, *joined])
    for output, whole in zip(s.outputs, zip(*made, strict=True), strict=False):
        if output:
            _stack(b, s, whole, 0, output, onnx.ValueInfoProto())


def _scanned(
    b: Builder, s: Source, body: Body, states: list[str], columns: list[str], length: int | None
) -> tuple[list[str], list[list[str]]]:
    """The states after the last turn and the rows of each further output."""
    old = s.version < 9
    given = [0] * len(columns) if old else _axes(s, "scan_input_axes", len(columns))
    axes = [axis_of(axis, b.rank(x)) for axis, x in zip(given, columns, strict=True)]
    backwards = _axes(s, "directions" if old else "scan_input_directions", len(columns))
    extents = [fixed(b.shape(x)[axis], "an axis of Scan") for x, axis in zip(columns, axes, strict=True)]
    if len(set(extents)) != 1:
        raise ModelError(f"scans axes of {' and '.join(map(str, extents))}, which must be of one extent")
    turns = extents[0] if length is None else length
    rows: list[list[str]] = [[] for _ in s.outputs[len(states) :]]
    for turn in range(turns):
        spend_node(s.where)
        parts = [_taken(b, s, x, axis, turns - 1 - turn if back else turn) for x, axis, back in zip(columns, axes, backwards, strict=True)]
        found = body.run([*states, *parts], f"{turn}/")
        states, made = found[: len(states)], found[len(states) :]
        for column, row in zip(rows, made, strict=True):
            column.append(row)
    if not old:
        reverse = _axes(s, "scan_output_directions", len(rows))
        rows = [column[::-1] if back else column for column, back in zip(rows, reverse, strict=True)]
    return states, rows


def _axes(s: Source, name: str, count: int) -> list[int]:
    """A list attribute with one number for each of so many values, 0 by default."""
    found = list(s.get(name) or [0] * count)[:count]
    if len(found) != count:
        raise ModelError(f"{name} has {len(found)} numbers, needs {count}")
    return found


def _taken(b: Builder, s: Source, x: str, axis: int, place: int) -> str:
    """What lies there on that axis, which is gone."""
    return b.emit(s, "Gather", [x, b.constant(f"{s.outputs[0]}_place", place)], attributes={"axis": axis})[0]
