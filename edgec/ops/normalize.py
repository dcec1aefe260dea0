"""Normalizations; each keeps its input's type."""

from __future__ import annotations

from edgec.ir.types import TensorType
from edgec.ops.registry import Call, Role, operator
from edgec.ops.rules import attribute, axis_of, broadcast, need, text


def _along_axis(call: Call) -> list[TensorType]:
    axis_of(attribute(call, "axis"), len(call.shape(0)))
    return [call.type(0)]


def _per_channel(call: Call) -> list[TensorType]:
    shape = call.shape(0)
    need(len(shape) >= 2, f"needs a channel axis, not {text(shape)}")
    for index in range(1, len(call.node.inputs)):
        need(call.shape(index) == (shape[1],), f"parameter {index} has shape {text(call.shape(index))} for {shape[1]} channels")
    return [call.type(0)]


def _layer(call: Call) -> list[TensorType]:
    shape = call.shape(0)
    inner = shape[axis_of(attribute(call, "axis"), len(shape)) :]
    for index in range(1, len(call.node.inputs)):
        if call.has(index):
            fits = broadcast([call.shape(index), inner]) == inner
            need(fits, f"parameter {index} of shape {text(call.shape(index))} does not broadcast to {text(inner)}")
    return [call.type(0)]


def _root(call: Call) -> list[TensorType]:
    """Over the last axis alone: over several, sums of other orders are meant (docs/int8.md, clause 10)."""
    rank = len(call.shape(0))
    need(axis_of(attribute(call, "axis"), rank) == rank - 1, "is one over the last axis")
    return _layer(call)


def _lrn(call: Call) -> list[TensorType]:
    need(len(call.shape(0)) >= 2, f"needs a channel axis, not {text(call.shape(0))}")
    return [call.type(0)]


operator("Softmax", _along_axis, role=Role.SOFTMAX)
operator("LogSoftmax", _along_axis)
operator("LayerNormalization", _layer, role=Role.NORM)
operator("RMSNormalization", _root, role=Role.NORM)
operator("InstanceNormalization", _per_channel)
operator("BatchNormalization", _per_channel)
operator("LRN", _lrn)
