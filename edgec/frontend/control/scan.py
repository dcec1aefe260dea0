"""Scan: a loop over the places on some axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx

from edgec.base.budget import spend_constant, spend_node
from edgec.base.errors import ModelError
from edgec.frontend.control.body import Body
from edgec.frontend.control.conditional import hand_on
from edgec.frontend.control.loop import keep
from edgec.frontend.control.stacks import misfit, moved_rows, reversed_rows, stack
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.ops.rules import axis_of, fixed


@rule("Scan")
def scan(b: Builder, s: Source) -> None:
    """A turn for each place on the axes that are scanned. Before version 9 the first axis of everything counts sequences."""
    count = s.attributes["num_scan_inputs"]
    given = s.inputs if s.version >= 9 else s.inputs[1:]
    states, columns = list(given[: len(given) - count]), list(given[len(given) - count :])
    graph = s.attributes["body"]
    if not 1 <= count <= len(given) or len(graph.input) != len(given) or len(graph.output) < max(len(s.outputs), len(states)):
        raise misfit(graph)
    body = Body(b, s, graph, range(max(len(s.outputs), len(states))))
    if s.version >= 9:
        walk = _walk(b, s, columns)
        if not _kept(b, s, body, states, walk):
            _write_out(b, s, body, states, walk)
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
        ends, rows = _scanned(b, s, body, firsts, _walk(b, s, parts, length))
        for column in rows:
            kind = b.type(column[0])
            spend_constant(kind.bytes, s.where)
            column += [b.constant(f"{s.outputs[0]}_rest", np.zeros(kind.static_shape, kind.dtype.numpy))] * (longest - length)
        joined = [b.fresh(f"{s.outputs[0]}_rows") for _ in rows]
        for name, column in zip(joined, rows, strict=True):
            stack(b, s, column, 0, name, onnx.ValueInfoProto())
        made.append([*ends, *joined])
    for output, whole in zip(s.outputs, zip(*made, strict=True), strict=False):
        if output:
            stack(b, s, whole, 0, output, onnx.ValueInfoProto())


@dataclass(frozen=True)
class Columns:
    """Values, each along an axis, forwards or from its end, in so many turns."""

    columns: Sequence[str]
    axes: Sequence[int]
    backwards: Sequence[int]
    turns: int


def _walk(b: Builder, s: Source, columns: Sequence[str], length: int | None = None) -> Columns:
    """length: of the sequence, where not all places are walked along."""
    old = s.version < 9
    given = [0] * len(columns) if old else _axes(s, "scan_input_axes", len(columns))
    axes = [axis_of(axis, b.rank(x)) for axis, x in zip(given, columns, strict=True)]
    backwards = _axes(s, "directions" if old else "scan_input_directions", len(columns))
    extents = [fixed(b.shape(x)[axis], "an axis of Scan") for x, axis in zip(columns, axes, strict=True)]
    if len(set(extents)) != 1:
        raise ModelError(f"scans axes of {' and '.join(map(str, extents))}, which must be of one extent")
    return Columns(columns, axes, backwards, extents[0] if length is None else length)


def _kept(b: Builder, s: Source, body: Body, states: Sequence[str], walk: Columns) -> bool:
    """The scan as one node, where that may be."""

    def inputs(inner: Builder, turn: str, now: Sequence[str]) -> Sequence[str]:
        last = inner.constant(f"{s.name}/last", walk.turns - 1)
        places = {True: inner.emit(s, "Sub", [last, turn])[0], False: turn} if any(walk.backwards) else {False: turn}
        parts = zip(walk.columns, walk.axes, walk.backwards, strict=True)
        return [*now, *(inner.emit(s, "Gather", [x, places[bool(back)]], attributes={"axis": axis})[0] for x, axis, back in parts)]

    kept = keep(b, s, body, walk.turns, states, inputs, columns=walk.columns)
    if kept is None:
        return False
    for value, output in zip(kept.ends, s.outputs, strict=False):
        hand_on(b, s, value, output)
    axes, backwards = (_axes(s, f"scan_output_{what}", len(kept.stacks)) for what in ("axes", "directions"))
    for rows, axis, back, output in zip(kept.stacks, axes, backwards, s.outputs[len(states) :], strict=True):
        hand_on(b, s, moved_rows(b, s, reversed_rows(b, s, rows) if back else rows, axis), output)
    return True


def _write_out(b: Builder, s: Source, body: Body, states: Sequence[str], walk: Columns) -> None:
    """One turn behind the other."""
    ends, made = _scanned(b, s, body, states, walk)
    for value, output in zip(ends, s.outputs, strict=False):
        hand_on(b, s, value, output)
    axes = _axes(s, "scan_output_axes", len(made))
    for place, (rows, axis) in enumerate(zip(made, axes, strict=True), len(states)):
        stack(b, s, rows, axis, s.outputs[place], s.attributes["body"].output[place])


def _scanned(b: Builder, s: Source, body: Body, states: Sequence[str], walk: Columns) -> tuple[list[str], list[list[str]]]:
    """The states after the last turn and the rows of each further output."""
    rows: list[list[str]] = [[] for _ in s.outputs[len(states) :]]
    for turn in range(walk.turns):
        spend_node(s.where)
        parts = [
            _taken(b, s, x, axis, walk.turns - 1 - turn if back else turn)
            for x, axis, back in zip(walk.columns, walk.axes, walk.backwards, strict=True)
        ]
        found = body.run([*states, *parts], f"{turn}/")
        states, made = found[: len(states)], found[len(states) :]
        for column, row in zip(rows, made, strict=True):
            column.append(row)
    if s.version >= 9:
        reverse = _axes(s, "scan_output_directions", len(rows))
        rows = [column[::-1] if back else column for column, back in zip(rows, reverse, strict=True)]
    return list(states), rows


def _axes(s: Source, name: str, count: int) -> list[int]:
    """A list attribute with one number for each of so many values, 0 by default."""
    found = list(s.get(name) or [0] * count)[:count]
    if len(found) != count:
        raise ModelError(f"{name} has {len(found)} numbers, needs {count}")
    return found


def _taken(b: Builder, s: Source, x: str, axis: int, place: int) -> str:
    """What lies there on that axis, which is gone."""
    return b.emit(s, "Gather", [x, b.constant(f"{s.outputs[0]}_place", place)], attributes={"axis": axis})[0]
