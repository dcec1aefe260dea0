"""Clause 9 of docs/int8.md: the tables that a package holds, against the evaluator."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.integer.operators import Function
from edgec.ir.types import DType
from edgec.lower.coding import Parameters
from edgec.lower.tables import table
from edgec.ops import OPERATORS, Role
from edgec.oracle import Evaluator
from tests.oracle.models import Builder

f32 = np.float32
FIXED = {name: known for name, known in OPERATORS.items() if known.role is Role.TABLE and not known.numbers and name != "Clip"}


@pytest.mark.parametrize("name", [f"{name} {form}".strip() for name, known in FIXED.items() for form in known.exact])
def test_tables_agree_with_the_evaluator(name: str) -> None:
    """Two programs that share no code compute the same 256 entries."""
    op, _, form = name.partition(" ")
    generator = np.random.default_rng(3)
    for dtype, activation in ((np.uint8, DType.UINT8), (np.int8, DType.INT8)):
        scale, step = (f32(2.0 ** generator.uniform(-8, 1)) for _ in range(2))
        zero, result = (dtype(generator.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1)) for _ in range(2))
        x = np.arange(np.iinfo(dtype).min, np.iinfo(dtype).max + 1).astype(dtype)
        b = Builder(opset=22)
        out = b.quantize(b.op(op, b.dequantize("x", scale, zero), **({"approximate": form} if form else {})), step, result)
        wanted = Evaluator(b.model({"x": x}, {out: dtype})).run({"x": x})[out]
        found = table((Function(name),), Parameters(scale, int(zero)), Parameters(step, int(result)), activation)
        np.testing.assert_array_equal(found, wanted)
