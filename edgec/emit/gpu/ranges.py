"""Between which values an expression lies, so that what cannot overflow is not wrapped and what is exact is not rounded."""

from __future__ import annotations

import math

from edgec.ir.types import DType
from edgec.program.expr import Binary, Cast, Const, Expr, Load, Select, Var

Range = tuple[float, float]
ANY: Range = (-math.inf, math.inf)


def range_of(item: Expr) -> Range:
    """The least and the largest value, infinite where nothing is known. A NaN lies in every range."""
    if isinstance(item, Const):
        return ANY if item.dtype is DType.BOOL or math.isnan(item.value) else (item.value, item.value)
    if isinstance(item, (Load, Var)):
        return _of_type(item.dtype)
    if isinstance(item, Select):
        a, b = range_of(item.a), range_of(item.b)
        return min(a[0], b[0]), max(a[1], b[1])
    if isinstance(item, Cast):
        return wrapped(item.dtype, before_wrap(item))
    if isinstance(item, Binary):
        return wrapped(item.dtype, before_wrap(item))
    return _of_type(item.dtype)


def before_wrap(item: Binary | Cast) -> Range:
    """The range of what an operation gives before it is cut to the width of its type."""
    if isinstance(item, Cast):
        return _of_type(item.a.dtype) if item.a.dtype is DType.BOOL else range_of(item.a)
    a, b = range_of(item.a), range_of(item.b)
    if item.op == "add":
        return a[0] + b[0], a[1] + b[1]
    if item.op == "sub":
        return a[0] - b[1], a[1] - b[0]
    if item.op == "mul" and all(map(math.isfinite, (*a, *b))):
        corners = [one * other for one in a for other in b]
        return min(corners), max(corners)
    if item.op == "max":  # the second operand where the first is NaN
        return max(a[0], b[0]), max(a[1], b[1])
    if item.op == "min":
        return min(a[0], b[0]), min(a[1], b[1])
    return ANY


def wrapped(dtype: DType, found: Range) -> Range:
    """The range after it: unchanged where it fits into the type."""
    own = _of_type(dtype)
    return found if dtype.is_float or (own[0] <= found[0] and found[1] <= own[1]) else own


def _of_type(dtype: DType) -> Range:
    if dtype is DType.BOOL:
        return 0, 1
    if dtype.is_float or dtype.bytes == 8:
        return ANY
    values = 1 << dtype.bytes * 8
    return (0, values - 1) if dtype.value.startswith("u") else (-values // 2, values // 2 - 1)
