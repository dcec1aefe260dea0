"""Formulas over values of the graph: each operation becomes a node, on behalf of one of the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.source import Source
from edgec.ir.types import DType, Symbol


@dataclass(frozen=True)
class Value:
    """A value of the graph; numbers beside it have its type."""

    b: Builder
    s: Source
    name: str

    @property
    def shape(self) -> tuple[int, ...]:
        """ModelError where an extent is a symbol."""
        found = self.b.shape(self.name)
        if any(isinstance(extent, Symbol) for extent in found):
            raise ModelError(f"needs the extents of {self.name}", hint="give --shape")
        return tuple(int(extent) for extent in found)

    @property
    def dtype(self) -> DType:
        return self.b.type(self.name).dtype

    def of(self, op: str, *others: Value, **attributes: Any) -> Value:
        return Value(self.b, self.s, self.b.emit(self.s, op, [self.name, *(other.name for other in others)], attributes=attributes)[0])

    def constant(self, array: Any, dtype: str = "int64") -> Value:
        """A constant on behalf of the same node; its size is paid for."""
        if isinstance(array, np.ndarray):
            spend_constant(array.nbytes, self.s.where)
        return Value(self.b, self.s, self.b.constant(f"{self.s.outputs[0]}_known", array, dtype))

    def number(self, number: float) -> Value:
        return Value(self.b, self.s, self.b.constant(f"{self.s.outputs[0]}_number", number, self.dtype.value))

    def numbers(self, array: np.ndarray) -> Value:
        return self.constant(array.astype(self.dtype.numpy))

    def on(self, b: Builder) -> Value:
        """The same value for another builder, which knows it."""
        return Value(b, self.s, self.name)

    # Arithmetic

    def below(self, limit: float, then: Value, otherwise: Value) -> Value:
        """`then` where this is less than the limit; `otherwise` also where it is NaN."""
        return self.of("Less", self.number(limit)).of("Where", then, otherwise)

    def clipped(self, low: float, high: float) -> Value:
        return self.of("Clip", self.number(low), self.number(high))

    def cast(self, kind: str) -> Value:
        return self if self.dtype.value == kind else self.of("Cast", to=kind)

    def _other(self, other: Value | float) -> Value:
        return other if isinstance(other, Value) else self.number(other)

    def __add__(self, other: Value | float) -> Value:
        return self.of("Add", self._other(other))

    def __sub__(self, other: Value | float) -> Value:
        return self.of("Sub", self._other(other))

    def __mul__(self, other: Value | float) -> Value:
        return self.of("Mul", self._other(other))

    def __truediv__(self, other: Value | float) -> Value:
        return self.of("Div", self._other(other))

    def __rsub__(self, other: float) -> Value:
        return self.number(other).of("Sub", self)

    def __rtruediv__(self, other: float) -> Value:
        return self.number(other).of("Div", self)

    # Movement

    def reshaped(self, *shape: int) -> Value:
        return self if self.shape == shape else self.of("Reshape", self.constant(list(shape)), allowzero=0)

    def spread(self, *axes: int) -> Value:
        """With new axes of extent 1 at these places of the result."""
        rank = len(self.shape) + len(axes)
        return self.of("Unsqueeze", self.constant(sorted(axis % rank for axis in axes)))

    def turned(self, *perm: int) -> Value:
        return self if perm == tuple(range(len(perm))) else self.of("Transpose", perm=list(perm))

    def cut(self, axis: int, start: int, end: int) -> Value:
        """What lies between two places of an axis."""
        extents = self.b.shape(self.name)
        axis %= len(extents)
        if (start, end) == (0, extents[axis]):
            return self
        return self.of("Slice", *(self.constant([number]) for number in (start, end, axis, 1)))

    def at(self, axis: int, place: int) -> Value:
        """One place of an axis, which is no more."""
        axis %= self.b.rank(self.name)
        return self.cut(axis, place, place + 1).of("Squeeze", self.constant([axis]))

    def padded(self, axis: int, before: int, after: int, fill: float = 0) -> Value:
        if not before and not after:
            return self
        pads = [0] * (2 * len(self.shape))
        pads[axis], pads[axis + len(self.shape)] = before, after
        return self.of("Pad", self.constant(pads), self.number(fill), mode="constant")

    def taken(self, places: Value | np.ndarray, axis: int) -> Value:
        """The elements at these places of an axis, which they replace."""
        return self.of("Gather", places if isinstance(places, Value) else self.constant(places.astype(np.int64)), axis=axis)

    def summed(self, *axes: int, op: str = "ReduceSum") -> Value:
        """Without these axes."""
        rank = len(self.shape)
        return self.of(op, self.constant(sorted(axis % rank for axis in axes)), keepdims=0) if axes else self

    def joined(self, others: Sequence[Value], axis: int) -> Value:
        return self.of("Concat", *others, axis=axis)

    def chosen(self, then: Value, otherwise: Value) -> Value:
        """Of a bool: `then` where it holds."""
        return self.of("Where", then, otherwise)

    def end(self, place: int = 0) -> None:
        """Let it be an output of the node."""
        self.b.emit(self.s, "Identity", [self.name], [self.s.outputs[place]])


def operand(b: Builder, s: Source, index: int) -> Value:
    """ModelError where the node has none, which no schema says of operators that ONNX does not know."""
    if not s.input(index):
        raise ModelError(f"lacks its input {index + 1}")
    return Value(b, s, s.inputs[index])


def keys(distance: Any, a: float) -> tuple[Any, Any]:
    """Keys' cubic convolution kernel, of arrays or of values of the graph: what it is up to a distance of 1, and from there to 2."""
    near = (distance * (a + 2) - (a + 3)) * distance * distance + 1
    far = ((distance * a - 5 * a) * distance + 8 * a) * distance - 4 * a
    return near, far
