"""Pooling over the spatial axes."""

from __future__ import annotations

import math

from edgec.ir.types import DType, TensorType
from edgec.ops.matrix import spatial, window_extent
from edgec.ops.registry import Call, Role, operator
from edgec.ops.rules import attribute, need, text, typed

TAPS = 1 << 24  # of a window; who computes one looks at each, beyond the image too


def _pool(call: Call) -> list[TensorType]:
    shape, kernel, pads = call.shape(0), attribute(call, "kernel_shape"), attribute(call, "pads")
    rank = len(kernel)
    need(len(shape) == rank + 2, f"a window of {rank} axes does not fit {text(shape)}")
    need(math.prod(kernel) <= TAPS, f"a window of {text(kernel)} has more than {TAPS:,} taps", "one of the image's size is a global pool")
    result = [
        window_extent(extent, kernel[d], attribute(call, "strides")[d], attribute(call, "dilations")[d],
                      pads[d] + pads[d + rank], bool(attribute(call, "ceil_mode")), pads[d])
        for d, extent in enumerate(spatial(call))
    ]  # fmt: skip
    need(min(result) > 0, f"the window leaves nothing: {result}")
    return typed(call.dtype(), [*shape[:2], *result])


def _largest(call: Call) -> list[TensorType]:
    """And where in the tensor each of them lies."""
    (pooled,) = _pool(call)
    return [pooled, *typed(DType.INT64, pooled.shape)]


def _global(call: Call) -> list[TensorType]:
    shape = call.shape(0)
    need(len(shape) >= 3, f"needs spatial axes, not {text(shape)}")
    return typed(call.dtype(), [*shape[:2], *[1] * (len(shape) - 2)])


operator("MaxPool", _largest, role=Role.MOVE)
operator("AveragePool", _pool, role=Role.AVERAGE)
operator("GlobalAveragePool", _global, role=Role.AVERAGE)
operator("GlobalMaxPool", _global, role=Role.MOVE)
