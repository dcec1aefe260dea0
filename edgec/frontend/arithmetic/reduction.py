"""Translations of reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.ir.types import DType
from edgec.ops.rules import axis_of


def reduction_axes(b: Builder, s: Source) -> list[int] | None:
    """Sorted axes of a reduction, from the attribute (older versions) or the operand; None when nothing is to be reduced."""
    rank = b.rank(s.inputs[0])
    axes = s.get("axes") if "axes" in s.attributes else b.known(s, 1, "the list of axes") if s.input(1) else []
    if 0 in b.shape(s.inputs[0]) and min(axes, default=0) < 0:
        b.misread.append(s.where)  # it looks for the axis from the front alone
    if not axes and s.get("noop_with_empty_axes", 0):
        return None
    return sorted({axis_of(axis, rank) for axis in axes}) or list(range(rank))


# reduction -> (elementwise operators before, the primitive reduction, elementwise operator after)
COMPOSITE = {
    "ReduceL1": ("Abs", "ReduceSum", ""), "ReduceL2": ("Square", "ReduceSum", "Sqrt"), "ReduceSumSquare": ("Square", "ReduceSum", ""),
    "ReduceLogSum": ("", "ReduceSum", "Log"),
}  # fmt: skip


@rule("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", *COMPOSITE, "ReduceLogSumExp")
def reduction(b: Builder, s: Source) -> None:
    axes, attributes = reduction_axes(b, s), {"keepdims": s.get("keepdims", 1)}
    if axes is None and s.op not in COMPOSITE:
        b.emit(s, "Identity", s.inputs[:1], s.outputs)
        return
    operand = b.constant(f"{s.outputs[0]}_axes", axes or [])
    if b.type(s.inputs[0]).dtype is DType.BOOL and s.op in ("ReduceMax", "ReduceMin"):
        numbers = b.emit(s, s.op, [*b.emit(s, "Cast", s.inputs[:1], attributes={"to": "uint8"}), operand], attributes=attributes)
        b.emit(s, "Cast", numbers, s.outputs, {"to": "bool"})
        return
    if s.op == "ReduceLogSumExp":
        log_sum_exp(b, s, operand, attributes)
        return
    before, primitive, after = COMPOSITE.get(s.op, ("", s.op, ""))
    (data,) = s.inputs[:1] if not before else b.emit(s, *(("Mul", s.inputs[:1] * 2) if before == "Square" else (before, s.inputs[:1])))
    if axes is None:
        b.emit(s, after or "Identity", [data], s.outputs)
    elif after:
        b.emit(s, after, b.emit(s, primitive, [data, operand], attributes=attributes), s.outputs)
    else:
        b.emit(s, primitive, [data, operand], s.outputs, attributes)


def log_sum_exp(b: Builder, s: Source, axes: str, attributes: dict[str, int]) -> None:
    """m + log(sum(exp(x - m))) with m the maximum, so that nothing overflows; m is finite, so that infinities are no NaN."""
    (top,) = b.emit(s, "ReduceMax", [s.inputs[0], axes], attributes={"keepdims": 1})
    dtype = b.type(top).dtype
    if dtype.is_float:
        limits: Any = np.finfo(dtype.value)
        largest = 0.99 * float(limits.max)  # a bound at the very end would count as none
        (top,) = b.emit(s, "Clip", [top, *(b.constant(f"{s.outputs[0]}_bound", bound, dtype.value) for bound in (-largest, largest))])
    (total,) = b.emit(s, "ReduceSum", [*b.emit(s, "Exp", b.emit(s, "Sub", [s.inputs[0], top])), axes], attributes={"keepdims": 1})
    if attributes["keepdims"]:
        b.emit(s, "Add", [*b.emit(s, "Log", [total]), top], s.outputs)
    else:
        b.emit(s, "Squeeze", [*b.emit(s, "Add", [*b.emit(s, "Log", [total]), top]), axes], s.outputs)


@rule("ArgMax", "ArgMin")
def argument(b: Builder, s: Source) -> None:
    b.emit(s, s.op, s.inputs, s.outputs, {**s.attributes, "axis": axis_of(s.attributes["axis"], b.rank(s.inputs[0]))})
