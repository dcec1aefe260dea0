"""Tensors made from shapes. Import folds them away wherever shapes are static."""

from __future__ import annotations

from math import ceil, isfinite

from edgec.ir.dimensions import rest
from edgec.ir.types import DType, TensorType
from edgec.ops.extents import counts
from edgec.ops.registry import Call, operator
from edgec.ops.rules import attribute, integers, need, refuse, typed


def _shape(call: Call) -> list[TensorType]:
    rank = len(call.shape(0))
    return typed(DType.INT64, [len(range(*slice(attribute(call, "start"), call.node.attributes.get("end")).indices(rank)))])


def _constant_of_shape(call: Call) -> list[TensorType]:
    return typed(DType.of(attribute(call, "value")), counts(call.graph, call.node.inputs[0]) or integers(call, 0, "the shape"))


def _range(call: Call) -> list[TensorType]:
    start, limit, delta = (call.constant(index) for index in range(3))
    wanted = counts(call.graph, call.node.inputs[1])
    if wanted and start is not None and delta is not None and start.item() >= 0 and delta.item() == 1:
        return typed(call.dtype(), [rest(wanted[0], start.item())])
    if start is None or limit is None or delta is None:
        raise refuse("its bounds are computed while the model runs", "edgec needs static shapes")
    need(delta.item() != 0, "its step is 0", "it may be any other number")
    steps = (limit.item() - start.item()) / delta.item()
    need(
        isfinite(steps), f"from {start.item()} to {limit.item()} by {delta.item()} are no finite number of steps", "give it finite numbers"
    )
    return typed(call.dtype(), [max(0, ceil(steps))])


operator("Shape", _shape)
operator("Size", lambda call: typed(DType.INT64, ()))
operator("ConstantOfShape", _constant_of_shape)
operator("Range", _range)
