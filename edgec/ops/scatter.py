"""Updates at places that indices say, and places that a selection finds."""

from __future__ import annotations

import numpy as np

from edgec.ir.dimensions import no_more
from edgec.ir.types import DType, TensorType, static
from edgec.ops.extents import counts
from edgec.ops.registry import Call, operator
from edgec.ops.rules import attribute, axis_of, need, of_run, text, typed
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
    """As many as are wanted, which may be an extent that a run counts; of another number that only a run knows, as many as there are."""
    shape, known = list(call.shape(0)), call.constant(1)
    axis = axis_of(attribute(call, "axis"), len(shape))
    extent = of_run(shape[axis], "the axis of TopK")
    need(call.shape(1) == (1,), f"k has the shape {text(call.shape(1))}, needs [1]")
    wanted = counts(call.graph, call.node.inputs[1])
    if known is not None:
        k = int(known.reshape(-1)[0])
        need(0 <= k <= static([extent])[0], f"k is {k}, the axis has {extent}")
        shape[axis] = k
    else:
        shape[axis] = wanted[0] if wanted and no_more(wanted[0], extent) else counted(call, static([extent])[0])
    return [*typed(call.dtype(), shape), *typed(DType.INT64, shape)]


operator("ScatterND", _scatter_nd)
operator("TopK", _top_k)
