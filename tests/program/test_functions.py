"""Functions that kernels compute of their sums are the operators' own, operation by operation, or come as near as they say."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import edgec.ops  # noqa: F401  (fills OPERATORS)
from edgec.ops.registry import OPERATORS
from edgec.oracle.sums import NEAR, OWN
from edgec.program.expr import real
from edgec.program.functions import FUNCTIONS, V
from tests.oracle.references import gelu, gelu_tanh, swish

OWN_STEPS = [op for op, row in FUNCTIONS.items() if not row.within]
EXACT: dict[str, Callable[[np.ndarray], np.ndarray]] = {"Swish": swish, "Gelu none": gelu, "Gelu tanh": gelu_tanh}


@pytest.mark.parametrize("op", OWN_STEPS)
def test_a_function_is_the_operator(op: str) -> None:
    scalar, row = OPERATORS[op].scalar, FUNCTIONS[op]
    given = dict(zip(row.numbers, (0.3, 0.7), strict=False))
    assert scalar is not None
    assert row.of(V, **{name: real(value) for name, value in given.items()}) == ((V, scalar(V, **given)),)


@pytest.mark.parametrize("op", NEAR)
def test_a_function_comes_as_near_as_it_says(op: str) -> None:
    """And no nearer by much; far away it is the operator."""
    x = np.linspace(-60, 60, 400_001).astype(np.float32)
    error = np.abs(NEAR[op](x).astype(np.float64) - EXACT[op](x.astype(np.float64)))
    assert 0.8 * FUNCTIONS[op].within < error.max() <= FUNCTIONS[op].within
    large = np.array([0.0, 100.0, 1e30, -100.0, -1e30], np.float32)
    np.testing.assert_allclose(NEAR[op](large), [0, 100, 1e30, 0, 0], rtol=1e-5, atol=FUNCTIONS[op].within)


def test_the_evaluator_knows_the_same_functions() -> None:
    assert {*OWN, *NEAR} == set(FUNCTIONS)
    assert set(NEAR) == set(FUNCTIONS) - set(OWN_STEPS)
