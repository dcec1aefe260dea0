"""Selections of which only a run knows how many elements they have: their extent is a symbol that is counted, up to a bound."""

from __future__ import annotations

from math import prod

from edgec.ir.types import DType, Symbol, TensorType
from edgec.ops.registry import Call, operator
from edgec.ops.rules import axis_of, count, fixed, most, need, text, typed


def counted(call: Call, bound: int) -> Symbol:
    """What the node counts."""
    return Symbol(f"{call.node.name or call.node.outputs[0]}_count", bound, True)


def _non_zero(call: Call) -> list[TensorType]:
    shape = call.shape(0)
    return typed(DType.INT64, [max(len(shape), 1), counted(call, prod(most(extent, "an extent") for extent in shape))])


def _compress(call: Call) -> list[TensorType]:
    """Along an axis; a condition may be shorter than it."""
    shape, condition = list(call.shape(0)), call.shape(1)
    axis = axis_of(call.node.attributes["axis"], len(shape))
    need(len(condition) == 1 and len(shape) > 0, f"a condition {text(condition)} selects nothing of {text(tuple(shape))}")
    shape[axis] = counted(call, min(most(condition[0], "a condition"), most(shape[axis], "the axis of Compress")))
    return typed(call.dtype(), shape)


def _non_max_suppression(call: Call) -> list[TensorType]:
    """At most as many boxes of each class as the constant says, if it is one, and as there are."""
    boxes, scores = call.shape(0), call.shape(1)
    fits = len(boxes) == len(scores) == 3 and boxes[2] == 4 and boxes[0] == scores[0] and boxes[1] == scores[2]
    need(fits, f"boxes {text(boxes)} and scores {text(scores)} do not fit together")
    for place, what in enumerate(("number of boxes", "threshold of overlap", "threshold of scores"), 2):
        need(not call.has(place) or count(call.shape(place)) == 1, f"the {what} is not one number")
    known = call.constant(2) if call.has(2) else None
    taken = most(boxes[1], "the number of boxes")
    taken = taken if known is None else max(0, min(taken, int(known.reshape(-1)[0])))
    return typed(DType.INT64, [counted(call, count(scores[:2]) * taken) if taken else 0, 3])


def _unique(call: Call) -> list[TensorType]:
    """Of the slices along an axis: those that differ, where each was first, which of them each slice is, and how many are equal to each."""
    shape = list(call.shape(0))
    axis = axis_of(call.node.attributes["axis"], len(shape))
    given = fixed(shape[axis], "the axis of Unique")
    found = shape[axis] = counted(call, given)
    return [*typed(call.dtype(), shape), *(kind for extent in (found, given, found) for kind in typed(DType.INT64, [extent]))]


operator("Unique", _unique)
operator("NonZero", _non_zero)
operator("Compress", _compress)
operator("NonMaxSuppression", _non_max_suppression)
