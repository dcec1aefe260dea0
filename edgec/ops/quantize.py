"""QuantizeLinear and DequantizeLinear, per tensor (scalar scale) or per axis, constants also in blocks along an axis. The zero point
decides the 8-bit type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from edgec.ir.types import DType, TensorType
from edgec.ops.registry import Call, operator
from edgec.ops.rules import attribute, axis_of, fixed, need, text, typed

# Where a float product may read codes in place of a matrix: one that comes from memory rather than from a cache, and few rows, since
# of more the decoding costs more time than it saves.
FEWEST_CODED, MOST_CODED_ROWS = 1 << 14, 64
SMALLEST = 2.0**-128 + 2.0**-149  # the least float32 whose inverse is one


def _parameters(call: Call, least: float) -> None:
    """least: a scale that multiplies may be 0, as that of weights which are all 0."""
    shape, scale = call.shape(0), call.shape(1)
    block = call.node.attributes.get("block_size", 0)
    if block:
        axis = axis_of(attribute(call, "axis"), len(shape))
        wanted = tuple(-(-fixed(extent, "an extent") // block) if place == axis else extent for place, extent in enumerate(shape))
        need(scale == wanted, f"scale {text(scale)} does not fit blocks of {block} along axis {axis} of {text(shape)}")
    elif scale not in ((), (1,)):
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


def spread(values: np.ndarray, shape: Sequence[int], attributes: Mapping[str, Any]) -> np.ndarray:
    """Scales or zero points of a constant so that they broadcast to its `shape`: of all of it, by index of the axis, or by block."""
    if values.size == 1:
        return values.reshape(())
    axis, block = attributes.get("axis", 1) % len(shape), attributes.get("block_size", 0)
    if block:
        return np.repeat(values, block, axis).take(range(shape[axis]), axis)
    return values.reshape([-1 if place == axis else 1 for place in range(len(shape))])


def dequantized(codes: np.ndarray, scale: np.ndarray, zero: np.ndarray | None, attributes: Mapping[str, Any]) -> np.ndarray:
    """fl32(fl32(q - z) * s), clause 3 of docs/int8.md, of constants."""
    wide = codes.astype(np.int32 if codes.dtype.itemsize < 4 else np.int64)
    steps = wide if zero is None else wide - spread(zero, codes.shape, attributes).astype(wide.dtype)
    with np.errstate(over="ignore"):  # infinite, as in ONNX
        return np.asarray(steps.astype(scale.dtype) * spread(scale, codes.shape, attributes))


operator("QuantizeLinear", _quantize)
operator("DequantizeLinear", _dequantize)
