"""Updates at places that indices say, and places that a selection finds."""

from __future__ import annotations

import numpy as np

from edgec.ir.types import DType, TensorType
from edgec.ops.registry import Call, operator
from edgec.ops.rules import attribute, axis_of, fixed, need, text, typed
from edgec.ops.select import counted


def _scatter_nd(call: Call) -> list[TensorType]:
    """Of rows: the indices have a last axis of 1."""
    data, indices, updates = (call.shape(index) for index in range(3))
    need(len(data) > 0 and indices[-1:] == (1,), f"indices {text(indices)} say no rows of {text(data)}")
    need(updates == (*indices[:-1], *data[1:]), f"updates {text(updates)} do not fit indices {text(indices)} and data {text(data)}")
    need(call.dtype(0) == call.dtype(2), "data and updates of different types")
    known, extent = call.constant(1), data[0]
    if known is not None and isinstance(extent, int):
        need(bool(np.all((known >= -extent) & (known < extent))), f"an index lies outside of axis 0 of {text(data)}")
    return [call.type(0)]


def _top_k(call: Call) -> list[TensorType]:
    """A number that only a run knows is at most the axis."""
    shape, known = list(call.shape(0)), call.constant(1)
    axis = axis_of(attribute(call, "axis"), len(shape))
    most = fixed(shape[axis], "the axis of TopK")
    need(call.shape(1) == (1,), f"k has the shape {text(call.shape(1))}, needs [1]")
    if known is None:
        shape[axis] = counted(call, most)
    else:
        k = int(known.reshape(-1)[0])
        need(0 <= k <= most, f"k is {k}, the axis has {most}")
        shape[axis] = k
    return [*typed(call.dtype(), shape), *typed(DType.INT64, shape)]


operator("ScatterND", _scatter_nd)
operator("TopK", _top_k)
