"""Det by elimination with the largest pivots."""

from __future__ import annotations

from math import prod

import numpy as np

from edgec.base.budget import spend_node
from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value, operand
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source

LARGEST = 64  # rows; each is a dozen nodes


@rule("Det")
def det(b: Builder, s: Source) -> None:
    x = operand(b, s, 0)
    *batch, rows, columns = x.shape
    if rows != columns or not 0 < rows <= LARGEST:
        raise ModelError(f"of {rows} x {columns} is not supported, square matrices of up to {LARGEST} rows are")
    matrix, result = x.reshaped(prod(batch), rows, rows), None
    while matrix.shape[1] > 2:
        spend_node(s.where)
        pivot, matrix = eliminated(matrix)
        result = pivot if result is None else result * pivot
    last = _small(matrix)
    (last if result is None else result * last).reshaped(*batch).end()


def eliminated(matrix: Value) -> tuple[Value, Value]:
    """The pivot of the first column, negative where rows were swapped for it, and what elimination leaves of the other rows."""
    n = matrix.shape[1]
    column = matrix.cut(2, 0, 1)
    best = column.of("Abs").of("ArgMax", axis=1, keepdims=1, select_last_index=0)
    found = best.of("Equal", best.constant(np.arange(n).reshape(1, n, 1)))
    chosen = found.chosen(matrix, matrix.number(0)).summed(1).spread(1)
    pivot = chosen.cut(2, 0, 1)
    swapped = found.cut(1, 1, n).chosen(matrix.cut(1, 0, 1), matrix.cut(1, 1, n))
    divisor = pivot.of("Equal", pivot.number(0)).chosen(pivot.number(1), pivot)
    rest = swapped.cut(2, 1, n) - (swapped.cut(2, 0, 1) / divisor) * chosen.cut(2, 1, n)
    return found.cut(1, 0, 1).chosen(pivot, 0.0 - pivot), rest


def _small(matrix: Value) -> Value:
    """Of one or two rows, [n, 1, 1]."""
    if matrix.shape[1] == 1:
        return matrix
    a, b, c, d = (matrix.cut(1, row, row + 1).cut(2, column, column + 1) for row in range(2) for column in range(2))
    return a * d - b * c
