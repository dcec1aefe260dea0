"""Literals of scalar expressions: a number that the type cannot hold."""

from __future__ import annotations

from math import inf

import pytest

from edgec.ir.types import DType
from edgec.program.expr import cast, const


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("number, wanted", [(1e28, inf), (-1e28, -inf), (65504.0, 65504.0), (1e-28, 0.0)])
def test_a_number_beyond_half_precision_is_infinite(number: float, wanted: float) -> None:
    assert cast(const(number), DType.FLOAT16) == const(wanted, DType.FLOAT16)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("number, wanted", [(300, 44), (-1, 255), (1e28, 0)])
def test_a_number_beyond_an_integer_wraps(number: float, wanted: int) -> None:
    assert cast(const(number), DType.UINT8) == const(wanted, DType.UINT8)
