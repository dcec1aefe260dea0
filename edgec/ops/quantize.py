"""QuantizeLinear and DequantizeLinear, per tensor (scalar scale) or per axis. The zero point decides the 8-bit type."""

from __future__ import annotations

import numpy as np

from edgec.ir.types import DType, TensorType
from edgec.ops.registry import Call, operator
from edgec.ops.rules import attribute, axis_of, need, text, typed

SMALLEST = 2.0**-128 + 2.0**-149  # the least float32 whose inverse is one


def _parameters(call: Call, least: float) -> None:
    """least: a scale that multiplies may be 0, as that of weights which are all 0."""
    shape, scale = call.shape(0), call.shape(1)
    if scale not in ((), (1,)):
        axis = axis_of(attribute(call, "axis"), len(shape))
        need(len(scale) == 1 and scale[0] == shape[axis], f"scale {text(scale)} does not fit axis {axis} of {text(shape)}")
    known = call.constant(1)
    if known is not None:
        what = "too small, its inverse is infinite" if known.min() > 0 else "not positive"
        need(bool(np.all(known >= least)), f"a scale of {known.min()} is {what}")
    if call.has(2):
        need(call.shape(2) == scale, f"zero point {text(call.shape(2))} and scale {text(scale)} differ in shape")


def _quantize(call: Call) -> list[TensorType]:
    _parameters(call, SMALLEST)
    return typed(call.dtype(2) if call.has(2) else DType.UINT8, call.shape(0))


def _dequantize(call: Call) -> list[TensorType]:
    _parameters(call, SMALLEST if call.constant(0) is None else 0.0)
    if call.has(2):
        need(call.dtype(2) == call.dtype(0), f"zero point is {call.dtype(2).value} for data of {call.dtype(0).value}")
    return typed(call.dtype(1), call.shape(0))


operator("QuantizeLinear", _quantize)
operator("DequantizeLinear", _dequantize)
