"""Ground floor: element types, dimensions and tensor types, shared by every room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod

import ml_dtypes
import numpy as np


class DType(Enum):
    """An element type; the value is numpy's name for it."""

    FLOAT32 = "float32"
    FLOAT64 = "float64"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    INT8 = "int8"
    UINT8 = "uint8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    UINT32 = "uint32"
    INT64 = "int64"
    UINT64 = "uint64"
    BOOL = "bool"

    @property
    def numpy(self) -> np.dtype[np.generic]:
        found: np.dtype[np.generic] = np.dtype(ml_dtypes.bfloat16 if self is DType.BFLOAT16 else self.value)
        return found

    @property
    def bytes(self) -> int:
        return self.numpy.itemsize

    @property
    def is_float(self) -> bool:
        return "float" in self.value

    @staticmethod
    def of(array: np.ndarray) -> DType:
        return DType(array.dtype.name)


MOST_AXES = 32  # that numpy walks over
# Computed with as float32: of the first a Graph keeps what a float32 keeps, of the others everything.
HELD_ONLY = frozenset({DType.FLOAT64, DType.FLOAT16, DType.BFLOAT16})


@dataclass(frozen=True)
class Symbol:
    """A dimension that is known only when the package runs: 1 <= value <= bound. counted: the run finds it, and it may be 0.

    made: of one that is computed from others how, see edgec/ir/dimensions.py, which gives what is equal one name.
    """

    name: str
    bound: int
    counted: bool = False
    made: tuple[str, tuple[Dim, ...]] | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.name}{'<~' if self.counted else '<='}{self.bound}"


Dim = int | Symbol
Shape = tuple[Dim, ...]


@dataclass(frozen=True)
class TensorType:
    """Element type and shape of one value of the graph."""

    dtype: DType
    shape: Shape

    def __str__(self) -> str:
        return f"{self.dtype.value}[{','.join(map(str, self.shape))}]"

    @property
    def is_static(self) -> bool:
        return all(isinstance(extent, int) for extent in self.shape)

    @property
    def is_counted(self) -> bool:
        """Whether only a run knows how many elements there are."""
        return any(isinstance(extent, Symbol) and extent.counted for extent in self.shape)

    @property
    def static_shape(self) -> tuple[int, ...]:
        """The shape as integers; a symbol counts as its bound."""
        return tuple(extent if isinstance(extent, int) else extent.bound for extent in self.shape)

    @property
    def elements(self) -> int:
        """Number of elements; a symbol counts as its bound."""
        return prod(self.static_shape)

    @property
    def bytes(self) -> int:
        return self.elements * self.dtype.bytes


def static(shape: Sequence[Dim]) -> tuple[int, ...]:
    """`shape` as integers, a symbol replaced by its bound."""
    return TensorType(DType.FLOAT32, tuple(shape)).static_shape
