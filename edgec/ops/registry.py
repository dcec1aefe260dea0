"""What edgec knows of each operator. One file of this folder per operator family adds its records to OPERATORS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType, Shape, TensorType
from edgec.ops.exact import Exact
from edgec.program.expr import Expr


class Role(Enum):
    """What quantization does with an operator; the clauses are those of docs/int8.md."""

    MATRIX = "matrix"  # clause 4: int8 data, constant weights, one output
    ADD = "add"  # clause 5
    MUL = "mul"  # clause 6
    CONCAT = "concat"  # clause 7, several data operands
    MOVE = "move"  # clause 7, one data operand whose bytes are moved
    AVERAGE = "average"  # clause 8
    TABLE = "table"  # clause 9
    PAIR = "pair"  # clause 16: what MatMul is with two computed operands
    SOFTMAX = "softmax"  # clause 17
    NORM = "norm"  # clause 18
    FLOAT = "float"  # stays in float


@dataclass(frozen=True)
class Call:
    """One node as shape rules see it."""

    graph: Graph
    node: Node

    def type(self, index: int) -> TensorType:
        return self.graph.types[self.node.inputs[index]]

    def shape(self, index: int) -> Shape:
        return self.type(index).shape

    def dtype(self, index: int = 0) -> DType:
        return self.type(index).dtype

    def constant(self, index: int) -> np.ndarray | None:
        """The array of input `index`, None when it is absent or computed."""
        name = self.node.input(index)
        return self.graph.constant(name) if name else None

    def has(self, index: int) -> bool:
        return bool(self.node.input(index))


InferRule = Callable[[Call], list[TensorType]]
ScalarRule = Callable[..., Expr]


@dataclass(frozen=True)
class Operator:
    """An operator of the IR, in ONNX's latest semantics.

    infer: types of the outputs, raising ModelError when the inputs do not fit. scalar: for elementwise operators, the
    result of one element from the (broadcast) elements of the inputs; the node's attributes arrive as keywords.
    exact: of those that clause 9 of docs/int8.md makes tables of, the same of a fraction, and of the attributes that `numbers` names or
    the one constant operand; by form, "" where there is but one. total: its result is finite wherever its operand is.
    """

    name: str
    infer: InferRule
    role: Role = Role.FLOAT
    scalar: ScalarRule | None = None
    exact: Mapping[str, Exact] = field(default_factory=dict)
    numbers: tuple[str, ...] = ()
    total: bool = False


OPERATORS: dict[str, Operator] = {}


def operator(
    name: str, infer: InferRule, *, role: Role = Role.FLOAT, scalar: ScalarRule | None = None,
    exact: Exact | Mapping[str, Exact] | None = None, numbers: tuple[str, ...] = (), total: bool = False,
) -> None:  # fmt: skip
    """Add an operator; names are unique. An exact function by itself has the form ""."""
    if name in OPERATORS:
        raise ValueError(f"operator {name} is registered twice")
    forms = exact if isinstance(exact, Mapping) else {"": exact} if exact is not None else {}
    OPERATORS[name] = Operator(name, infer, role, scalar, forms, numbers, total)


def exact_function(name: str) -> Exact:
    """Of an operator, behind its name the form: "Gelu tanh", "Tanh"."""
    op, _, form = name.partition(" ")
    return OPERATORS[op].exact[form]
