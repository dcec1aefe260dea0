"""Translations of operators that are a few others: classes as vectors, running sums, norms."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from edgec.budget import spend_constant
from edgec.errors import ModelError
from edgec.frontend.arithmetic.arithmetic import element_type
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.frontend.windows.window import auto_pad, extents, partial_pads, pool, window
from edgec.ops.rules import axis_of


def places(b: Builder, s: Source, count: int, axis: int, rank: int) -> str:
    """0, 1, ... along one axis."""
    spend_constant(count * 8, s.where)
    return b.constant(f"{s.outputs[0]}_places", np.arange(count).reshape([-1 if d == axis else 1 for d in range(rank)]))


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
    (found,) = b.emit(s, "Equal", [best, places(b, s, extent, axis, b.rank(x))])
    (cast,) = b.emit(s, "Cast", [found], attributes={"to": b.type(x).dtype.value})
    b.emit(s, "Reshape", [cast, b.constant(f"{s.outputs[0]}_shape", list(shape))], s.outputs)


@rule("OneHot")
def one_hot(b: Builder, s: Source) -> None:
    """Places count from the end where they are negative; those beyond both ends are nowhere."""
    (depth,) = b.known(s, 1, "the depth")
    rank = b.rank(s.inputs[0]) + 1
    axis = axis_of(s.attributes["axis"], rank)
    (index,) = b.emit(s, "Cast", s.inputs[:1], attributes={"to": "int64"})
    (index,) = b.emit(s, "Unsqueeze", [index, b.constant(f"{s.outputs[0]}_axis", [axis])])
    (is_negative,) = b.emit(s, "Less", [index, b.constant(f"{s.outputs[0]}_zero", 0)])
    (from_end,) = b.emit(s, "Add", [index, b.constant(f"{s.outputs[0]}_depth", depth)])
    (index,) = b.emit(s, "Where", [is_negative, from_end, index])
    (found,) = b.emit(s, "Equal", [index, places(b, s, depth, axis, rank)])
    off, on = (b.emit(s, "Gather", [s.inputs[2], b.constant(f"{s.outputs[0]}_{n}", n)], attributes={"axis": 0})[0] for n in (0, 1))
    b.emit(s, "Where", [found, on, off], s.outputs)


@rule("EyeLike")
def eye_like(b: Builder, s: Source) -> None:
    """Only the operand's shape and type say anything."""
    shape = b.type(s.inputs[0]).static_shape
    if len(shape) != 2:
        raise ModelError(f"needs a matrix, has {len(shape)} axes")
    kind = element_type(s.attributes["dtype"]) if "dtype" in s.attributes else b.type(s.inputs[0]).dtype.value
    spend_constant(math.prod(shape) * np.dtype(kind).itemsize, s.where)
    b.define(s.outputs[0], np.eye(*shape, s.get("k", 0), dtype=kind))


@rule("CumSum", "CumProd")
def running(b: Builder, s: Source) -> None:
    """Each step combines with what lies twice as far away as in the one before: no number meets one that is not before it."""
    op, neutral = {"CumSum": ("Add", 0), "CumProd": ("Mul", 1)}[s.op]
    shape, total = b.type(s.inputs[0]).static_shape, s.inputs[0]
    axes = b.known(s, 1, "the axis")
    if len(axes) != 1:
        raise ModelError(f"has {len(axes)} axes, needs one")
    axis, reverse = axis_of(axes[0], len(shape)), bool(s.get("reverse", 0))
    if s.get("exclusive", 0):
        total = moved(b, s, total, axis, 1, neutral, reverse)
    step = 1
    while step < shape[axis]:
        (total,) = b.emit(s, op, [total, moved(b, s, total, axis, step, neutral, reverse)])
        step *= 2
    b.emit(s, "Identity", [total], s.outputs)


def moved(b: Builder, s: Source, x: str, axis: int, step: int, neutral: int, reverse: bool) -> str:
    """`x`, moved along the axis by so many places, to its end or to its beginning."""
    shape = b.type(x).static_shape
    start, end = (step, shape[axis]) if reverse else (0, shape[axis] - step)
    bounds = [
        b.constant(f"{s.outputs[0]}_{name}", [value]) for name, value in (("start", start), ("end", end), ("axis", axis), ("step", 1))
    ]
    (kept,) = b.emit(s, "Slice", [x, *bounds])
    missing = [step if d == axis else extent for d, extent in enumerate(shape)]
    spend_constant(math.prod(missing) * b.type(x).dtype.bytes, s.where)
    fill = b.constant(f"{s.outputs[0]}_fill", np.full(missing, neutral, b.type(x).dtype.numpy))
    return b.emit(s, "Concat", [kept, fill] if reverse else [fill, kept], attributes={"axis": axis})[0]


def power_sum(b: Builder, s: Source, axes: list[int]) -> str:
    """The sum of |x|^p, its axes kept."""
    axes_name = b.constant(f"{s.outputs[0]}_axes", axes)
    return b.emit(s, "ReduceSum", [powers(b, s), axes_name], attributes={"keepdims": 1})[0]


def powers(b: Builder, s: Source) -> str:
    """|x|^p"""
    x, p = s.inputs[0], s.get("p", 2)
    if p == 2:
        return b.emit(s, "Mul", [x, x])[0]
    (size,) = b.emit(s, "Abs", [x])
    return size if p == 1 else b.emit(s, "Pow", [size, b.constant(f"{s.outputs[0]}_p", p, b.type(x).dtype.value)])[0]


def root(b: Builder, s: Source, x: str, outputs: Any = 1) -> list[str]:
    """x^(1/p)"""
    p = s.get("p", 2)
    if p in (1, 2):
        return b.emit(s, {1: "Identity", 2: "Sqrt"}[p], [x], outputs)
    return b.emit(s, "Pow", [x, b.constant(f"{s.outputs[0]}_root", 1 / p, b.type(x).dtype.value)], outputs)


@rule("LpNormalization")
def lp_normalization(b: Builder, s: Source) -> None:
    """Where all is 0 it stays so."""
    (norm,) = root(b, s, power_sum(b, s, [axis_of(s.attributes["axis"], b.rank(s.inputs[0]))]))
    zero = b.constant(f"{s.outputs[0]}_zero", 0, b.type(norm).dtype.value)
    (quotient,) = b.emit(s, "Div", [s.inputs[0], norm])
    b.emit(s, "Where", [*b.emit(s, "Equal", [norm, zero]), zero, quotient], s.outputs)


@rule("GlobalLpPool")
def global_lp_pool(b: Builder, s: Source) -> None:
    root(b, s, power_sum(b, s, list(range(2, 2 + len(extents(b, s))))), s.outputs)


@rule("LpPool")
def lp_pool(b: Builder, s: Source) -> None:
    """The mean of a window, padding counted, times the number of its places."""
    found, image = window(b, s), extents(b, s)
    auto_pad(s, image, found)
    if s.get("ceil_mode", 0) and s.get("auto_pad", "NOTSET") in ("NOTSET", "VALID"):
        found["pads"] = [*found["pads"][: len(image)], *partial_pads(image, found)]
    mean = b.fresh(f"{s.outputs[0]}_mean")
    attributes = {**found, "count_include_pad": 1, "auto_pad": "NOTSET"}
    pool(b, replace(s, op="AveragePool", inputs=(powers(b, s),), outputs=(mean,), attributes=attributes))
    count = b.constant(f"{s.outputs[0]}_count", math.prod(s.attributes["kernel_shape"]), b.type(mean).dtype.value)
    root(b, s, b.emit(s, "Mul", [mean, count])[0], s.outputs)
