"""Where a value is wanted: kernels write straight into the slice of a concatenation, or into the caller's output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgec.ir.types import DType
from edgec.lower.values import Extents, Order, Value, View, is_one, order_of, packed_strides, same_strides, view_of
from edgec.program.expr import Expr


def destination(view: View | None, dtype: DType, shape: Extents, order: Order) -> View | None:
    """`view`, the place that awaits a value, if its memory order fits; None to allocate."""
    if view is None or view.dtype != dtype:
        return None
    dense = packed_strides(shape, order)
    return view if same_strides(view.strides, dense, shape) or _ordered(view, shape, order) else None


def _ordered(view: View, shape: Extents, order: Order) -> bool:
    real = [d for d in order if not is_one(shape[d])]
    return [d for d in order_of(view, shape) if not is_one(shape[d])] == real


def slices(whole: Value, axis: int, starts: Sequence[Expr]) -> list[View]:
    """The views of parts of `whole` that begin there along `axis`."""
    view = view_of(whole)
    return [replace(view, offset=view.offset + start * view.strides[axis]) for start in starts]
