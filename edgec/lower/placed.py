"""Operands and results of kernels as evenly spaced pixels or rows in memory."""

from __future__ import annotations

from collections.abc import Callable

from edgec.ir.types import DType
from edgec.lower.builder import Lowering
from edgec.lower.layout import Pixels, pixels, rows
from edgec.lower.values import Extents, Order, Value, channels_last, row_major

Placed = tuple[Value, Pixels]


def placed_operand(
    lowering: Lowering, name: str, value: Value, is_rows: bool = False, readable: Callable[[Pixels], bool] = lambda found: True
) -> Placed:  # fmt: skip
    """`value`, copied where it lies otherwise, or not `readable`; `name` then keeps the copy."""
    found = _found(value, is_rows)
    if found is not None and readable(found):
        return value, found
    stored = lowering.materialize(value, name, _order(value.shape, is_rows))
    lowering.keep(name, value, stored)
    return surely_placed(stored, is_rows)


def placed_result(lowering: Lowering, name: str, dtype: DType, shape: Extents, is_rows: bool = False) -> Placed:
    """Memory for a result of this shape: where its reader wants it, unless that is no pixels."""
    order = _order(shape, is_rows)
    y = lowering.place(name, dtype, shape, order)
    found = _found(y, is_rows)
    return (y, found) if found is not None else surely_placed(lowering.dense(name, dtype, shape, order), is_rows)


def surely_placed(value: Value, is_rows: bool = False) -> Placed:
    """value: dense, in the order of pixels or rows."""
    found = _found(value, is_rows)
    assert found is not None
    return value, found


def _found(value: Value, is_rows: bool) -> Pixels | None:
    if value.view is None:
        return None
    return rows(value.view, value.shape) if is_rows else pixels(value.view, value.shape)


def _order(shape: Extents, is_rows: bool) -> Order:
    return row_major(len(shape)) if is_rows else channels_last(len(shape))
