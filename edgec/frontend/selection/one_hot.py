"""Classes as vectors: OneHot, and Hardmax."""

from __future__ import annotations

import math

from edgec.base.errors import ModelError
from edgec.frontend.selection.gathering import numbered
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.ops.rules import axis_of


@rule("OneHot")
def one_hot(b: Builder, s: Source) -> None:
    """Places count from the end where they are negative; those beyond both ends are nowhere."""
    (depth,) = b.known(s, 1, "the depth")
    if depth < 1:
        raise ModelError(f"has a depth of {depth:,}", hint="export the model again")
    rank = b.rank(s.inputs[0]) + 1
    axis = axis_of(s.attributes["axis"], rank)
    (index,) = b.emit(s, "Cast", s.inputs[:1], attributes={"to": "int64"})
    (index,) = b.emit(s, "Unsqueeze", [index, b.constant(f"{s.outputs[0]}_axis", [axis])])
    (is_negative,) = b.emit(s, "Less", [index, b.constant(f"{s.outputs[0]}_zero", 0)])
    (from_end,) = b.emit(s, "Add", [index, b.constant(f"{s.outputs[0]}_depth", depth)])
    (index,) = b.emit(s, "Where", [is_negative, from_end, index])
    (found,) = b.emit(s, "Equal", [index, numbered(b, s, depth, axis, rank)])
    off, on = (b.emit(s, "Gather", [s.inputs[2], b.constant(f"{s.outputs[0]}_{n}", n)], attributes={"axis": 0})[0] for n in (0, 1))
    b.emit(s, "Where", [found, on, off], s.outputs)


@rule("Hardmax")
def hardmax(b: Builder, s: Source) -> None:
    """1 at the first of the largest. Before opset 13 all axes from `axis` on are one."""
    x, shape = s.inputs[0], b.type(s.inputs[0]).static_shape
    axis = axis_of(s.attributes["axis"], len(shape))
    if s.version < 13:
        flat = (math.prod(shape[:axis]), math.prod(shape[axis:]))
        (x,), axis = b.emit(s, "Reshape", [x, b.constant(f"{s.outputs[0]}_flat", list(flat))]), 1
    extent = b.type(x).static_shape[axis]
    (best,) = b.emit(s, "ArgMax", [x], attributes={"axis": axis, "keepdims": 1, "select_last_index": 0})
    (found,) = b.emit(s, "Equal", [best, numbered(b, s, extent, axis, b.rank(x))])
    (cast,) = b.emit(s, "Cast", [found], attributes={"to": b.type(x).dtype.value})
    b.emit(s, "Reshape", [cast, b.constant(f"{s.outputs[0]}_shape", list(shape))], s.outputs)
