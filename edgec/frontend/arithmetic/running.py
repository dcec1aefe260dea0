"""CumSum and CumProd, in as many steps as doubling takes."""

from __future__ import annotations

import math

import numpy as np

from edgec.budget import spend_constant
from edgec.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.ops.rules import axis_of


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
