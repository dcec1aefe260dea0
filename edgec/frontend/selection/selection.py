"""Translations of operators that select elements."""

from __future__ import annotations

import numpy as np

from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.ops.rules import axis_of


@rule("TopK")
def top_k(b: Builder, s: Source) -> None:
    """Always in order, by which ONNX Runtime does not go where the file asks for none; one alone is in any."""
    k = b.constant(f"{s.outputs[0]}_k", [s.attributes["k"]]) if s.version < 10 else s.inputs[1]
    attributes = {"axis": axis_of(s.attributes["axis"], b.rank(s.inputs[0])), "largest": s.get("largest", 1), "sorted": 1}
    count = b.value(k)
    if not s.get("sorted", 1) and (count is None or count.tolist() not in (1, [1])):
        b.misread.append(s.where)
    outputs = [name or b.fresh(f"{s.name}_unused") for name in (*s.outputs, "")[:2]]
    b.emit(s, "TopK", [s.inputs[0], k], outputs, attributes)


@rule("NonZero")
def non_zero(b: Builder, s: Source) -> None:
    """What is counted already is not counted again, so that its extent is the same."""
    known = next((node.outputs[0] for node in b.graph.readers(s.inputs[0]) if node.op == "NonZero"), "")
    b.emit(s, "Identity" if known else "NonZero", [known or s.inputs[0]], s.outputs)


@rule("Compress")
def compress(b: Builder, s: Source) -> None:
    """Along an axis, which may be that of the elements in a row; a condition that is known is a Gather."""
    data, axis = s.inputs[0], s.get("axis")
    if axis is None:
        (data,), axis = b.emit(s, "Reshape", [data, b.constant(f"{s.outputs[0]}_row", [-1])]), 0
    axis = axis_of(axis, b.rank(data))
    known = b.value(s.inputs[1])
    if known is None:
        b.emit(s, "Compress", [data, s.inputs[1]], s.outputs, {"axis": axis})
        return
    places = b.constant(f"{s.outputs[0]}_places", np.flatnonzero(known))
    b.emit(s, "Gather", [data, places], s.outputs, {"axis": axis})


@rule("NonMaxSuppression")
def non_max_suppression(b: Builder, s: Source) -> None:
    """Without a number of boxes there are none."""
    given = b.value(s.input(2)) if s.input(2) else np.zeros(1, np.int64)
    if given is not None and (given.size != 1 or given.reshape(-1)[0] <= 0):
        b.define(s.outputs[0], np.zeros((0, 3), np.int64))
        return
    b.emit(s, s.op, s.inputs, s.outputs, {"center_point_box": s.get("center_point_box", 0)})


@rule("Unique")
def unique(b: Builder, s: Source) -> None:
    """Of slices along an axis, which may be that of the elements in a row."""
    data, axis = s.inputs[0], s.get("axis")
    if axis is None:
        (data,), axis = b.emit(s, "Reshape", [data, b.constant(f"{s.outputs[0]}_row", [-1])]), 0
    outputs = [s.outputs[0] or b.fresh(f"{s.name}_unused"), *s.outputs[1:]]
    b.emit(s, "Unique", [data], outputs, {"axis": axis_of(axis, b.rank(data)), "sorted": s.attributes["sorted"]})
