"""Clause 9 of docs/int8.md: the tables that a package holds, against the evaluator."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import onnxruntime
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


SPECIAL = (
    ("Div of", 1, [100]),
    ("Div of", -1, [100]),
    ("Div", 0, [99, 101]),
    ("Pow", -2, [100]),
    ("Pow", -1, [100]),
    ("Log", None, [100]),
)


@pytest.mark.parametrize("name, constant, codes", SPECIAL)
def test_infinite_results_are_those_of_onnx_runtime(name: str, constant: int | None, codes: list[int]) -> None:
    """Of quotients by 0, of negative powers of 0 and of its logarithm: a norm's reciprocal is large where the norm's code stands for 0."""
    x, source, result = np.arange(256).astype(np.uint8), Parameters(f32(0.5), 100), Parameters(f32(0.02), 7)
    b = Builder(opset=22)
    operand = b.dequantize("x", source.scale, np.uint8(source.zero))
    operands = [operand] if constant is None else [operand, b.const(constant, np.float32)]
    op, _, backward = name.partition(" ")
    out = b.quantize(b.op(op, *(operands[::-1] if backward else operands)), result.scale, np.uint8(result.zero))
    session = onnxruntime.InferenceSession(b.model({"x": x}, {out: np.uint8}).SerializeToString())
    numbers = () if constant is None else (Fraction(constant),)
    found = table((Function(name, numbers),), source, result, DType.UINT8)
    assert found[codes].tolist() == session.run(None, {"x": x})[0][codes].tolist()
