"""Angles and hyperbolic functions, as the import writes them, against numpy in binary64."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto

from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.frontend.arithmetic.trigonometry import FUNCTIONS
from edgec.ir.types import DType

from .models import model, node

NUMPY = {f"A{name[1:]}": f"arc{name[1:]}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")}
STEPS = np.linspace(-1, 1, 2001)
SPANS = {"Asin": 1, "Acos": 1, "Atanh": 1, "Tan": 1.5, "Sinh": 88, "Cosh": 88, "Acosh": 3, "Atan": 20, "Asinh": 20}
ENDS = np.array([0.0, -0.0, 1, -1, 1e-30, -1e-30, 1e30, -1e30, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("op", FUNCTIONS)
def test_a_few_units_in_the_last_place(op: str) -> None:
    """All over its range, near 0, at its ends and beyond them; of a large angle nothing is asked."""
    tiny = np.geomspace(1e-20, 0.3, 300)
    x = np.concatenate([STEPS * SPANS[op], tiny, -tiny, 1 + tiny, np.geomspace(1, 1e9, 200), ENDS]).astype(np.float32)
    x = np.clip(x, -1.5, 1.5) if op == "Tan" else x
    graph = from_proto(model([node(op, "x", "y")], {"x": [x.size]}, ["y"])).graph
    (found,) = onnxruntime.InferenceSession(to_onnx(graph).SerializeToString()).run(None, {"x": x})
    with np.errstate(all="ignore"):
        exact = getattr(np, NUMPY.get(op, op.lower()))(x.astype(np.float64))
        expected = exact.astype(np.float32)
        known = np.isfinite(expected)
        units = np.abs(found[known] - exact[known]) / np.spacing(np.maximum(np.abs(expected[known]), 1e-30))
    assert np.array_equal(found[~known], expected[~known], equal_nan=True)
    assert units.max() < 8, (op, x[known][units.argmax()], units.max())


def test_float64_is_computed_in_float32() -> None:
    graph = from_proto(model([node("Tan", "x", "y")], {"x": (TensorProto.DOUBLE, [3])}, ["y"])).graph
    assert {kind.dtype for kind in graph.types.values()} == {DType.FLOAT32}
    assert graph.held == {"x": DType.FLOAT64, "y": DType.FLOAT64}
