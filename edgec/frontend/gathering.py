"""GatherElements and GatherND as Gather of rows: a table of its axis, where it is checked, makes each index an offset, and they add up."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from edgec.errors import ModelError
from edgec.frontend.builder import Builder
from edgec.frontend.rules import rule
from edgec.frontend.source import Source
from edgec.ir.types import Symbol
from edgec.ops.rules import axis_of


@rule("GatherElements")
def gather_elements(b: Builder, s: Source) -> None:
    """The index says the place on one axis; those on the others are the result's own."""
    extents, wanted = _static(b, s.inputs[0]), _static(b, s.inputs[1])
    axis = axis_of(s.attributes["axis"], len(extents))
    if len(wanted) != len(extents) or any(w > e for d, (w, e) in enumerate(zip(wanted, extents, strict=True)) if d != axis):
        raise ModelError(f"indices {list(wanted)} do not fit data {list(extents)}")
    strides = [prod(extents[d + 1 :]) for d in range(len(extents))]
    own = np.indices(wanted, sparse=True)
    elsewhere = sum((own[d] * strides[d] for d in range(len(extents)) if d != axis), np.zeros(wanted, np.int64))
    offsets = _offsets(b, s, s.inputs[1], extents[axis], strides[axis])
    _gather_rows(b, s, [offsets], np.broadcast_to(elsewhere, wanted), (prod(extents),))


@rule("GatherND")
def gather_nd(b: Builder, s: Source) -> None:
    """The last axis of the indices says places on the first axes after the batch's."""
    extents, wanted, batch = _static(b, s.inputs[0]), _static(b, s.inputs[1]), s.get("batch_dims", 0)
    if not 0 <= batch < min(len(extents), len(wanted)) or wanted[:batch] != extents[:batch] or not 0 < wanted[-1] <= len(extents) - batch:
        raise ModelError(f"indices {list(wanted)} do not fit data {list(extents)} with batch_dims {batch}")
    chosen, rest = extents[batch : batch + wanted[-1]], extents[batch + wanted[-1] :]
    parts = []
    for place, extent in enumerate(chosen):
        name = s.outputs[0]
        ends = [b.constant(f"{name}_{what}", [value]) for what, value in (("start", place), ("end", place + 1), ("axis", len(wanted) - 1))]
        (column,) = b.emit(s, "Slice", [s.inputs[1], *ends, b.constant(f"{name}_step", [1])])
        (index,) = b.emit(s, "Squeeze", [column, ends[2]])
        parts.append(_offsets(b, s, index, extent, prod(chosen[place + 1 :])))
    numbers = np.arange(prod(extents[:batch])).reshape((*extents[:batch], *[1] * (len(wanted) - 1 - batch)))
    _gather_rows(b, s, parts, np.broadcast_to(numbers * prod(chosen), wanted[:-1]), (prod(extents[:batch]) * prod(chosen), *rest))


def _offsets(b: Builder, s: Source, index: str, extent: int, stride: int) -> str:
    """What each index, which may count from the end, adds to the number of a row."""
    table = b.constant(f"{s.outputs[0]}_offsets", np.arange(extent, dtype=np.int64) * stride)
    return b.emit(s, "Gather", [table, index], attributes={"axis": 0})[0]


def _gather_rows(b: Builder, s: Source, parts: Sequence[str], known: np.ndarray, rows: tuple[int, ...]) -> None:
    """The rows of the data, in the shape `rows`, whose numbers are the sums of `parts` and what is `known` of them."""
    total, *others = [*parts, *([b.constant(f"{s.outputs[0]}_known", np.asarray(known, np.int64))] if known.any() else [])]
    for other in others:
        (total,) = b.emit(s, "Add", [total, other])
    (data,) = b.emit(s, "Reshape", [s.inputs[0], b.constant(f"{s.outputs[0]}_rows", list(rows))])
    b.emit(s, "Gather", [data, total], s.outputs, {"axis": 0})


def _static(b: Builder, name: str) -> tuple[int, ...]:
    shape = b.shape(name)
    if any(isinstance(extent, Symbol) for extent in shape):
        raise ModelError(f"needs the extents of {name}", hint="give --shape")
    return tuple(int(extent) for extent in shape)
