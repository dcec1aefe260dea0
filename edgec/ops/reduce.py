"""Reductions: sums, extremes and their positions. Axes are a constant operand, non-negative and sorted."""

from __future__ import annotations

from edgec.ir.types import DType, TensorType
from edgec.ops.registry import Call, Role, operator
from edgec.ops.rules import attribute, axis_of, integers, typed


def _reduce(call: Call) -> list[TensorType]:
    shape = call.shape(0)
    axes = {axis_of(axis, len(shape)) for axis in integers(call, 1, "the list of axes")}
    kept = [1 if d in axes else extent for d, extent in enumerate(shape) if attribute(call, "keepdims") or d not in axes]
    return typed(call.dtype(), kept)


def _argument(call: Call) -> list[TensorType]:
    shape = call.shape(0)
    axis = axis_of(attribute(call, "axis"), len(shape))
    return typed(DType.INT64, [1 if d == axis else extent for d, extent in enumerate(shape) if attribute(call, "keepdims") or d != axis])


operator("ReduceMean", _reduce, role=Role.AVERAGE)
for _name in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd"):
    operator(_name, _reduce)
operator("ArgMax", _argument)
operator("ArgMin", _argument)
