"""GatherElements, GatherND and ReverseSequence as Gather of rows: a table of its axis, where it is checked, makes each index an offset,
and they add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import operand
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.ops.rules import axis_of


@rule("GatherElements")
def gather_elements(b: Builder, s: Source) -> None:
    """The index says the place on one axis; those on the others are the result's own."""
    extents, wanted = (operand(b, s, index).shape for index in range(2))
    axis = axis_of(s.attributes["axis"], len(extents))
    if len(wanted) != len(extents) or any(w > e for d, (w, e) in enumerate(zip(wanted, extents, strict=True)) if d != axis):
        raise ModelError(f"indices {list(wanted)} do not fit data {list(extents)}")
    strides = [prod(extents[d + 1 :]) for d in range(len(extents))]
    spend_constant(prod(wanted) * 8, s.where)
    own = np.indices(wanted, sparse=True)
    elsewhere = sum((own[d] * strides[d] for d in range(len(extents)) if d != axis), np.zeros(wanted, np.int64))
    part = offsets(b, s, s.inputs[1], extents[axis], strides[axis])
    _gather_rows(b, s, [part], np.broadcast_to(elsewhere, wanted), (prod(extents),))


@rule("GatherND")
def gather_nd(b: Builder, s: Source) -> None:
    """The last axis of the indices says places on the first axes after the batch's."""
    extents, wanted, batch = operand(b, s, 0).shape, b.shape(s.inputs[1]), s.get("batch_dims", 0)
    if not 0 <= batch < min(len(extents), len(wanted)) or wanted[:batch] != extents[:batch] or not 0 < wanted[-1] <= len(extents) - batch:
        raise ModelError(f"indices {list(wanted)} do not fit data {list(extents)} with batch_dims {batch}")
    chosen, rest = extents[batch : batch + wanted[-1]], extents[batch + wanted[-1] :]
    parts = [offsets(b, s, operand(b, s, 1).at(-1, place).name, extent, prod(chosen[place + 1 :])) for place, extent in enumerate(chosen)]
    known = np.zeros(0)
    if batch:
        spend_constant(prod(operand(b, s, 1).shape[:-1]) * 8, s.where)
        numbers = np.arange(prod(extents[:batch])).reshape((*extents[:batch], *[1] * (len(wanted) - 1 - batch)))
        known = np.broadcast_to(numbers * prod(chosen), operand(b, s, 1).shape[:-1])
    _gather_rows(b, s, parts, known, (prod(extents[:batch]) * prod(chosen), *rest))


@rule("ReverseSequence")
def reverse_sequence(b: Builder, s: Source) -> None:
    """Step t of a sequence of n steps is step n - 1 - t, and itself from n on; where n is beyond the axis, so are some of these."""
    extents, name = operand(b, s, 0).shape, s.outputs[0]
    axes = [axis_of(s.attributes[axis], len(extents)) for axis in ("time_axis", "batch_axis")]
    if sorted(axes) != [0, 1] or operand(b, s, 1).shape != (extents[axes[1]],):
        raise ModelError(f"lengths {list(operand(b, s, 1).shape)} along axes {axes} do not fit data {list(extents)}")
    time, batch = axes
    steps = numbered(b, s, extents[time], time, 2)
    (lengths,) = b.emit(s, "Unsqueeze", [s.inputs[1], b.constant(f"{name}_axis", [time])])
    (last,) = b.emit(s, "Sub", [lengths, b.constant(f"{name}_one", 1)])
    (back,) = b.emit(s, "Sub", [last, steps])
    (turned,) = b.emit(s, "Less", [steps, lengths])
    (places,) = b.emit(s, "Where", [turned, back, steps])
    strides = (extents[1], 1)
    parts = [offsets(b, s, places, extents[time], strides[time]), numbered(b, s, extents[batch], batch, 2, strides[batch])]
    _gather_rows(b, s, parts, np.zeros(0), (extents[0] * extents[1], *extents[2:]))


def numbered(b: Builder, s: Source, count: int, axis: int, rank: int, stride: int = 1) -> str:
    """0, stride, 2 stride, ... along one axis."""
    spend_constant(count * 8, s.where)
    shape = [count if d == axis else 1 for d in range(rank)]
    return b.constant(f"{s.outputs[0]}_steps", np.arange(count, dtype=np.int64).reshape(shape) * stride)


def total(b: Builder, s: Source, parts: Sequence[str]) -> str:
    """Their sum."""
    result, *others = parts
    for other in others:
        (result,) = b.emit(s, "Add", [result, other])
    return result


def offsets(b: Builder, s: Source, index: str, extent: int, stride: int) -> str:
    """What each index, which may count from the end, adds to the number of a row."""
    table = b.constant(f"{s.outputs[0]}_offsets", np.arange(extent, dtype=np.int64) * stride)
    return b.emit(s, "Gather", [table, index], attributes={"axis": 0})[0]


def _gather_rows(b: Builder, s: Source, parts: Sequence[str], known: np.ndarray, rows: tuple[int, ...]) -> None:
    """The rows of the data, in the shape `rows`, whose numbers are the sums of `parts` and what is `known` of them."""
    sure = [b.constant(f"{s.outputs[0]}_known", np.asarray(known, np.int64))] if known.any() else []
    (data,) = b.emit(s, "Reshape", [s.inputs[0], b.constant(f"{s.outputs[0]}_rows", list(rows))])
    b.emit(s, "Gather", [data, total(b, s, [*parts, *sure])], s.outputs, {"axis": 0})
