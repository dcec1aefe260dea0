"""What shape rules share: broadcasting, axes, constant operands, and the errors they raise."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from edgec.base.errors import ModelError
from edgec.ir.types import Dim, DType, Shape, Symbol, TensorType, static
from edgec.ops.registry import Call


def refuse(what: str, hint: str = "") -> ModelError:
    """The error of a rule whose inputs do not fit; whoever calls the rule adds the node's name."""
    return ModelError(what, hint=hint)


def text(shape: Shape) -> str:
    return f"[{','.join(map(str, shape))}]"


def broadcast(shapes: Sequence[Shape]) -> Shape:
    """NumPy's rule; a symbol broadcasts with itself and with 1 only."""
    rank = max(len(shape) for shape in shapes)
    result: list[Dim] = [1] * rank
    for shape in shapes:
        for position, extent in enumerate(shape, rank - len(shape)):
            if result[position] == 1:
                result[position] = extent
            elif extent not in (1, result[position]):
                raise refuse(f"shapes {' and '.join(map(text, shapes))} do not broadcast")
    return tuple(result)


def axis_of(axis: int, rank: int) -> int:
    """A non-negative axis."""
    if not -rank <= axis < max(rank, 1):
        raise refuse(f"axis {axis} lies outside of rank {rank}")
    return axis % rank if rank else 0


def fixed(extent: Dim, what: str) -> int:
    """An extent that must be a number here."""
    if isinstance(extent, Symbol):
        raise refuse(f"{what} must be a number, not the symbol {extent.name}", "only the batch dimension may be symbolic")
    return extent


def of_run(extent: Dim, what: str) -> Dim:
    """An extent that is a number here, or one that the run counts."""
    return extent if isinstance(extent, Symbol) and extent.counted else fixed(extent, what)


def most(extent: Dim, what: str) -> int:
    """The largest number of such an extent."""
    return static([of_run(extent, what)])[0]


def integers(call: Call, index: int, what: str) -> list[int]:
    """A constant operand as a list of integers."""
    array = call.constant(index)
    if array is None:
        raise refuse(f"{what} is computed while the model runs", "edgec needs static shapes: make it a constant in the exporter")
    return [int(value) for value in array.reshape(-1)]


def attribute(call: Call, name: str) -> Any:
    return call.node.attributes[name]


def same(call: Call) -> list[TensorType]:
    """One output of the first input's type."""
    return [call.type(0)]


def need(condition: bool, what: str, hint: str = "") -> None:
    if not condition:
        raise refuse(what, hint)


def count(shape: Shape) -> int:
    """Number of elements of a static shape."""
    return prod(fixed(extent, "an extent") for extent in shape)


def typed(dtype: DType, shape: Sequence[Dim | np.integer[Any]]) -> list[TensorType]:
    return [TensorType(dtype, tuple(extent if isinstance(extent, Symbol) else int(extent) for extent in shape))]
