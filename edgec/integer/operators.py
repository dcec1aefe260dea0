"""Integer operators: what the nodes of a pattern are together, one class for each clause of docs/int8.md.

All codes and bounds are of 0 to 255, or 65,535; what is stored signed counts from -128, or -32,768, which changes no clause.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from edgec.integer.grid import Grid
from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.ops.quantize import spread


@dataclass(frozen=True, eq=False)
class Tail:
    """Where codes end: the output and grid of a QuantizeLinear, ONNX's type of it, the bounds of the activation before it, if there is
    one, as codes, and the nodes from there on."""

    name: str
    dtype: DType
    grid: Grid
    low: int
    high: int
    nodes: tuple[Node, ...]


@dataclass(frozen=True)
class Operand:
    """A value that is read as codes."""

    name: str
    grid: Grid


@dataclass(frozen=True, eq=False)
class IntegerOperator:
    """node: the ONNX operator, where all of it is computed. tail: None where no QuantizeLinear belongs to it. inside: nodes before it."""

    clause: ClassVar[int]
    node: Node
    operands: tuple[Operand, ...]
    tail: Tail | None
    inside: tuple[Node, ...] = field(default=(), kw_only=True)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All that it computes, in order."""
        return (*self.inside, self.node, *(self.tail.nodes if self.tail else ()))

    @property
    def end(self) -> Tail:
        """The tail, of operators that always have one."""
        assert self.tail is not None
        return self.tail


@dataclass(frozen=True, eq=False)
class Quantize(IntegerOperator):
    """Numbers to codes. Its tail is the QuantizeLinear, which is the node itself."""

    clause = 2


@dataclass(frozen=True)
class Weights:
    """The constant behind a DequantizeLinear, kept as it is stored: as int32 those of all layers would take four times the memory."""

    codes: np.ndarray
    zero: np.ndarray
    dequantize: Node

    @property
    def steps(self) -> np.ndarray:
        """w - z_w as int32, in the shape of the ONNX constant."""
        steps: np.ndarray = self.codes.astype(np.int32) - spread(self.zero.astype(np.int32), self.codes.shape, self.dequantize.attributes)
        return steps


@dataclass(frozen=True)
class Function:
    """A unary function by name, with the numbers that it takes besides its operand; None is no bound."""

    name: str
    numbers: tuple[Fraction | None, ...] = ()


@dataclass(frozen=True, eq=False)
class DotProduct(IntegerOperator):
    """Sums of products with constant weights, then per output channel the bias and the multiplier. Without a tail the result is a float.

    function: of that float, before the tail quantizes it. behind: per output channel the multiplier of what the function gives.
    """

    clause = 4
    weights: Weights
    bias: np.ndarray  # int64
    multipliers: np.ndarray  # float32
    function: Function | None = None
    behind: np.ndarray | None = None  # float32


@dataclass(frozen=True, eq=False)
class WideDotProduct(DotProduct):
    """The same where the operand or the result has codes of 16 bits."""

    clause = 15


@dataclass(frozen=True, eq=False)
class PairProduct(IntegerOperator):
    """The matrix product of two operands that are codes. Without a tail the result is a float."""

    clause = 16
    multiplier: np.float32


@dataclass(frozen=True, eq=False)
class Sum(IntegerOperator):
    """Add and Sub, by the multipliers of both operands."""

    clause = 5
    multipliers: tuple[np.float32, np.float32]


@dataclass(frozen=True, eq=False)
class Multiplication(IntegerOperator):
    """The product of two operands."""

    clause = 6
    multiplier: np.float32


@dataclass(frozen=True, eq=False)
class Requantize(IntegerOperator):
    """Codes to codes of another grid, or of the same. Its tail is the QuantizeLinear, which is the node itself."""

    clause = 7


@dataclass(frozen=True, eq=False)
class Join(IntegerOperator):
    """Concat: each operand requantized to `grid`, if that is not its own."""

    clause = 7
    grid: Grid


@dataclass(frozen=True, eq=False)
class Move(IntegerOperator):
    """Codes elsewhere, or the largest of a window: they keep their grid."""

    clause = 7


@dataclass(frozen=True, eq=False)
class Mean(IntegerOperator):
    """The mean of at most `count` pixels: fl32(factor / n) times their sum."""

    clause = 8
    factor: np.float32
    count: int


@dataclass(frozen=True, eq=False)
class Softmax(IntegerOperator):
    """Softmax over the last axis; inverse: fl32(1 / s_y)."""

    clause = 17
    inverse: np.float32


@dataclass(frozen=True, eq=False)
class LayerNorm(IntegerOperator):
    """LayerNormalization, or RMSNormalization, which is not centered; scale, offset: its scale and bias by s_y for each of `count`

    elements; epsilon: in the sums' unit.
    """

    clause = 18
    centered: bool
    count: int
    epsilon: int
    scale: np.ndarray  # float32
    offset: np.ndarray  # float32


@dataclass(frozen=True, eq=False)
class Table(IntegerOperator):
    """Unary functions, each of what the one before it gives, rounded once. `node` is the last of them."""

    clause = 9
    functions: tuple[Function, ...]
