"""Functions that kernels compute of their sums are the operators' own, operation by operation."""

from __future__ import annotations

import pytest

import edgec.ops  # noqa: F401  (fills OPERATORS)
from edgec.ops.registry import OPERATORS
from edgec.oracle.matrix import SHAPES
from edgec.program.expr import real
from edgec.program.functions import FUNCTIONS, V


@pytest.mark.parametrize("op", FUNCTIONS)
def test_a_function_is_the_operator(op: str) -> None:
    scalar, row = OPERATORS[op].scalar, FUNCTIONS[op]
    given = dict(zip(row.numbers, (0.3, 0.7), strict=False))
    assert scalar is not None
    assert row.of(V, **{name: real(value) for name, value in given.items()}) == scalar(V, **given)


def test_the_evaluator_knows_the_same_functions() -> None:
    assert set(SHAPES) == set(FUNCTIONS)
