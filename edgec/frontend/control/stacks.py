"""The rows that the turns of a loop make, and how they come out of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.source import Source
from edgec.ops.proto import coded_type
from edgec.ops.rules import axis_of


def misfit(graph: onnx.GraphProto) -> ModelError:
    return ModelError(f"its body has {len(graph.input)} inputs and {len(graph.output)} outputs, which does not fit the node")


def counted(b: Builder, s: Source, active: str, row: str) -> str:
    if not active:
        return row
    zero = b.constant(f"{s.outputs[0]}_zero", 0, b.type(row).dtype.value)
    return b.emit(s, "Where", [active, row, zero])[0]


def stack(b: Builder, s: Source, rows: Sequence[str], axis: int, output: str, declared: onnx.ValueInfoProto) -> None:
    """The rows along a new axis; no rows at all have the declared type."""
    if not rows:
        tensor = declared.type.tensor_type
        if not tensor.elem_type:
            raise ModelError(f"has no iterations, and does not say what {declared.name} would be")
        shape = [dim.dim_value for dim in tensor.shape.dim]
        shape.insert(axis_of(axis, len(shape) + 1), 0)
        b.define(output, np.zeros(shape, coded_type(tensor.elem_type).numpy))
        return
    where_to = b.constant(f"{s.outputs[0]}_axis", [axis])
    b.emit(s, "Concat", [b.emit(s, "Unsqueeze", [row, where_to])[0] for row in rows], [output], {"axis": axis})


def reversed_rows(b: Builder, s: Source, rows: str) -> str:
    """The last one first."""
    numbers = ([-1], [-(2**31) + 1], [0], [-1])
    return b.emit(s, "Slice", [rows, *(b.constant(f"{s.name}/{place}", item) for place, item in enumerate(numbers))])[0]


def moved_rows(b: Builder, s: Source, rows: str, axis: int) -> str:
    """Stacked on that axis instead of the first."""
    axis = axis_of(axis, b.rank(rows))
    order = [*range(1, axis + 1), 0, *range(axis + 1, b.rank(rows))]
    return b.emit(s, "Transpose", [rows], attributes={"perm": order})[0] if axis else rows
