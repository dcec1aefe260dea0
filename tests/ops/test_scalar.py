"""Each elementwise operator's scalar expression gives what ONNX's reference gives, at ties, zeros and large values too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from edgec.ir.graph import Node
from edgec.ir.types import DType
from edgec.ops import OPERATORS
from edgec.ops.evaluate import evaluate, evaluate_reference
from edgec.ops.proto import canonical_attributes
from edgec.program import semantics
from edgec.program.expr import Binary, Cast, Const, Expr, Select, Unary, Var, var

UNARY: dict[str, Any] = {
    **semantics.UNARY, "exp": np.exp, "log": np.log, "tanh": np.tanh, "sin": np.sin, "cos": np.cos,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "erf": lambda x: x.dtype.type(math.erf(x)),
}  # fmt: skip


def compute(a: Expr, known: dict[str, Any]) -> Any:
    """The value of an expression, as the target computes it: one operation at a time, in the expression's type."""
    if isinstance(a, Const):
        return a.dtype.numpy.type(a.value)
    if isinstance(a, Var):
        return known[a.name]
    if isinstance(a, Cast):
        return semantics.convert(compute(a.a, known), a.dtype.numpy)[()]
    if isinstance(a, Select):
        return compute(a.a, known) if compute(a.condition, known) else compute(a.b, known)
    if isinstance(a, Unary):
        return semantics.as_bits(compute(a.a, known), a.dtype.numpy) if a.op == "bits" else UNARY[a.op](compute(a.a, known))
    assert isinstance(a, Binary)
    return semantics.BINARY[a.op](compute(a.a, known), compute(a.b, known))


FLOATS = np.array([-1e4, -7.5, -2.5, -1.5, -1, -0.5, -0.3, -0.0, 0.0, 0.2, 0.5, 1, 1.5, 2.5, 3.3, 80, 1e4], np.float32)
INTS = np.array([-100, -7, -3, -1, 0, 1, 2, 5, 7, 100], np.int32)
BOOLS = np.array([False, True])
ATTRIBUTES: dict[str, list[dict[str, Any]]] = {
    "Cast": [{"to": "bool"}, {"to": "float32"}, {"to": "int32"}],
    "Gelu": [{"approximate": "none"}, {"approximate": "tanh"}],
    "Swish": [{}, {"alpha": 1.7}],
    "BitShift": [{"direction": "LEFT"}, {"direction": "RIGHT"}],
    "Mod": [{"fmod": 0}, {"fmod": 1}],
    "LeakyRelu": [{"alpha": 0.2}],
    "BitCast": [{"to": "int32"}, {"to": "uint32"}],
    "IsInf": [{}, {"detect_negative": 0}, {"detect_positive": 0}],
}
OPERANDS: dict[str, list[np.ndarray]] = {
    "And": [BOOLS] * 2,
    "Or": [BOOLS] * 2,
    "Xor": [BOOLS] * 2,
    "Not": [BOOLS],
    "Mod": [INTS, INTS[INTS != 0]],
    **dict.fromkeys(("BitwiseAnd", "BitwiseOr", "BitwiseXor"), [INTS] * 2),
    "BitwiseNot": [INTS],
    "Where": [BOOLS, FLOATS[:3], FLOATS[3:5]],
    "BitShift": [np.array([1, 5, 200], np.uint8), np.array([0, 1, 3], np.uint8)],
    "Log": [FLOATS[FLOATS > 0]],
    "Sqrt": [FLOATS[FLOATS >= 0]],
    "Pow": [FLOATS[FLOATS > 0], np.array([2, 0.5], np.float32)],
    "Div": [FLOATS, FLOATS[FLOATS != 0]],
    "Reciprocal": [FLOATS[FLOATS != 0]],
    "Clip": [FLOATS, np.array([-1], np.float32), np.array([2], np.float32)],
    "IsInf": [np.append(FLOATS, np.float32([np.inf, -np.inf]))],
    "IsNaN": [np.append(FLOATS, np.float32(np.nan))],
}
ARITY = {
    "Add": 2,
    "Sub": 2,
    "Mul": 2,
    "Min": 2,
    "Max": 2,
    "PRelu": 2,
    "Equal": 2,
    "Less": 2,
    "LessOrEqual": 2,
    "Greater": 2,
    "GreaterOrEqual": 2,
}
INTEGER_TOO = ("Add", "Sub", "Mul", "Min", "Max", "Equal", "Less", "GreaterOrEqual", "Neg", "Abs", "Sign", "Relu", "Div", "Cast")
SHIFTED = [np.array([-128, -5, -1, 0, 1, 5, 127], np.int8), np.array([-1, 0, 1, 3, 7, 8, 100], np.int8)]


def compare(op: str, columns: list[np.ndarray], attributes: dict[str, Any]) -> None:
    """Every combination of the operands' values."""
    rule = OPERATORS[op].scalar
    assert rule is not None
    complete = canonical_attributes(op, attributes)
    rows = np.stack([grid.reshape(-1) for grid in np.meshgrid(*[np.arange(len(column)) for column in columns], indexing="ij")])
    values = [column[index] for column, index in zip(columns, rows, strict=True)]
    if op == "Clip":
        values = [values[0], *(column.reshape(()) for column in columns[1:])]
    (wanted,) = evaluate_reference(Node(op, ["x"] * len(columns), ["y"], complete), values)
    expression = rule(*(var(f"v{place}", DType.of(column)) for place, column in enumerate(columns)), **complete)
    assert expression.dtype == DType.of(wanted)
    with np.errstate(all="ignore"):
        found = [compute(expression, {f"v{p}": np.broadcast_to(value, wanted.shape)[row] for p, value in enumerate(values)})
                 for row in range(len(wanted))]  # fmt: skip
    np.testing.assert_allclose(np.array(found), wanted, rtol=2e-6, atol=1e-6)
    (folded,) = evaluate(Node(op, ["x"] * len(columns), ["y"], complete), values)
    np.testing.assert_allclose(folded, wanted, rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("op", sorted(name for name, operator in OPERATORS.items() if operator.scalar is not None))
def test_scalar_rule(op: str) -> None:
    columns = OPERANDS.get(op) or [FLOATS] * ARITY.get(op, 1)
    for attributes in ATTRIBUTES.get(op, [{}]):
        compare(op, columns, attributes)


@pytest.mark.parametrize("op", INTEGER_TOO)
def test_scalar_rule_of_integers(op: str) -> None:
    columns = [INTS, INTS[INTS != 0]][: ARITY.get(op, 2 if op == "Div" else 1)]
    for attributes in ATTRIBUTES.get(op, [{}]):
        compare(op, columns, attributes)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_of_signed_numbers(direction: str) -> None:
    """The sign is copied to the right; amounts that are negative or too large leave nothing but it."""
    compare("BitShift", SHIFTED, {"direction": direction})


def test_every_elementwise_operator_has_a_scalar_rule() -> None:
    """Operators whose output element depends on one element of each operand."""
    without = {name for name, operator in OPERATORS.items() if operator.scalar is None}
    assert {"Add", "Sigmoid", "Where", "Clip", "Mish"}.isdisjoint(without)
    assert len(OPERATORS) - len(without) >= 45
