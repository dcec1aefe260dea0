"""CumSum and CumProd, in as many steps as doubling takes."""

from __future__ import annotations

import numpy as np

from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value, operand
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.ops.rules import axis_of


@rule("CumSum", "CumProd")
def running(b: Builder, s: Source) -> None:
    """Each step combines with what lies twice as far away as in the one before: no number meets one that is not before it."""
    op, neutral = {"CumSum": ("Add", 0), "CumProd": ("Mul", 1)}[s.op]
    total, axes = operand(b, s, 0), b.known(s, 1, "the axis")
    if len(axes) != 1:
        raise ModelError(f"has {len(axes)} axes, needs one")
    axis, reverse = axis_of(axes[0], len(total.shape)), bool(s.get("reverse", 0))
    if s.get("exclusive", 0):
        total = moved(total, axis, 1, neutral, reverse)
    step = 1
    while step < total.shape[axis]:
        total = total.of(op, moved(total, axis, step, neutral, reverse))
        step *= 2
    total.end()


def moved(x: Value, axis: int, step: int, neutral: int, reverse: bool) -> Value:
    """`x`, moved along the axis by so many places, to its end or to its beginning."""
    shape = x.shape
    fill = x.constant(np.full([step if d == axis else extent for d, extent in enumerate(shape)], neutral, x.dtype.numpy))
    if reverse:
        return x.cut(axis, step, shape[axis]).joined([fill], axis)
    return fill.joined([x.cut(axis, 0, shape[axis] - step)], axis)
