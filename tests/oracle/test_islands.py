"""Float islands: near ONNX Runtime, in the order of operations that clause 10 gives, and flagged when they are not exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgec.oracle import Evaluator, islands, mathlib, run
from tests.oracle.models import Builder, run_onnxruntime

f32 = np.float32
IMAGE = np.random.default_rng(0).standard_normal((2, 5, 6, 7)).astype(np.float32)
REAL: dict[str, tuple[dict[str, Any], list[Any]]] = {  # operator: attributes, further inputs, all of them float
    "Softmax": ({"axis": 1}, []), "LogSoftmax": ({"axis": -1}, []), "InstanceNormalization": ({}, [np.arange(5), np.ones(5)]),
    "LayerNormalization": ({"axis": -2}, [np.full((6, 7), 1.5), np.ones((6, 7))]), "GlobalAveragePool": ({}, []),
    "GlobalMaxPool": ({}, []),
    "BatchNormalization": ({}, [np.arange(5), np.ones(5), np.ones(5), np.arange(1, 6)]), "Clip": ({}, [-0.5, 0.5]),
    "LRN": ({"size": 3, "alpha": 0.1, "beta": 0.7, "bias": 2.0}, []), "Gelu": ({"approximate": "tanh"}, []), "Elu": ({"alpha": 0.5}, []),
    "AveragePool": ({"kernel_shape": [3, 2], "pads": [1, 0, 1, 1]}, []), "PRelu": ({}, [np.full((5, 1, 1), 0.3)]), "Pow": ({}, [2.0]),
    "Div": ({}, [np.arange(1, 8)]), "Min": ({}, [0.1, 0.2]), "Resize": ({"mode": "linear"}, ["", np.array([1, 1, 2, 1.5])]),
    **{name: ({}, []) for name in ("Erf", "Tanh", "Sigmoid", "Exp", "Selu", "Mish", "HardSwish", "HardSigmoid", "Softplus", "Softsign",
                                   "LeakyRelu", "Sin", "Cos")},
}  # fmt: skip
REDUCED: dict[str, tuple[dict[str, Any], list[int]]] = {  # reduction: attributes, axes
    "ReduceMean": ({"keepdims": 0}, [1, 3]), "ReduceSum": ({}, [2]), "ReduceMax": ({}, [-1]), "ReduceMin": ({}, [0, 1]),
    "ReduceL2": ({}, [1]), "ReduceLogSumExp": ({}, [1]), "ReduceSumSquare": ({"keepdims": 0}, []), "ReduceL1": ({}, [2, 0]),
    "ReduceProd": ({}, [2]),
}  # fmt: skip


@pytest.mark.parametrize("kind", [*REAL, *REDUCED])
def test_close_to_onnxruntime(kind: str) -> None:
    b = Builder()
    if kind in REAL:
        attributes, others = REAL[kind]
        names = [other if isinstance(other, str) else b.const(other, f32) for other in others]
    else:
        attributes, axes = REDUCED[kind]
        names = [b.const(axes, np.int64)] if axes else []
    out = b.op(kind, "x", *names, **attributes)
    model = b.model({"x": IMAGE}, {out: np.float32})
    evaluator = Evaluator(model)
    assert evaluator.exact_outputs == {out}
    got, expected = evaluator.run({"x": IMAGE})[out], run_onnxruntime(model, {"x": IMAGE})[0]
    assert got.dtype == np.float32 and got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=3e-6, atol=2e-6)


@pytest.mark.parametrize("count", [1, 15, 16, 17, 61])
def test_rows_have_sixteen_parts(count: int) -> None:
    """Alone where the last axis is reduced; by ascending index elsewhere."""
    x = np.random.default_rng(count).standard_normal((3, count)).astype(np.float32)
    parts = np.array([[np.add.reduce([f32(0), *row[part::16]]) for part in range(16)] for row in x], np.float32)
    for half in (8, 4, 2, 1):
        parts = parts[:, :half] + parts[:, half:]
    np.testing.assert_array_equal(islands.REDUCTIONS["ReduceSum"](x, [-1]), parts)
    whole = f32(0)
    for number in x.reshape(-1):
        whole += number
    np.testing.assert_array_equal(islands.REDUCTIONS["ReduceSum"](x, [0, 1]), [[whole]])


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("scales", [(1, 1, 2, 1.5), (1, 1, 0.7, 2.9)])
@pytest.mark.parametrize("transform", ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])
@pytest.mark.parametrize("outside", [0, 1])
def test_resizing_is_onnxruntimes(mode: str, scales: tuple[float, ...], transform: str, outside: int) -> None:
    """Also where a factor leaves part of a pixel, with which ONNX's own reference computes."""
    b = Builder()
    attributes = {"coordinate_transformation_mode": transform, "exclude_outside": outside, "cubic_coeff_a": -0.5} if mode == "cubic" else {}
    attributes |= {"coordinate_transformation_mode": transform}
    out = b.op("Resize", "x", "", b.const(scales, f32), mode=mode, **attributes)
    model = b.model({"x": IMAGE}, {out: np.float32})
    evaluator = Evaluator(model)
    assert evaluator.exact_outputs == {out}
    np.testing.assert_allclose(evaluator.run({"x": IMAGE})[out], run_onnxruntime(model, {"x": IMAGE})[0], rtol=1e-5, atol=1e-5)


def test_softmax_order() -> None:
    """Clause 10, one operation at a time."""
    x = (np.random.default_rng(1).standard_normal((3, 50)) * 4).astype(np.float32)
    b = Builder()
    out = b.op("Softmax", "x", axis=-1)
    got = run(b.model({"x": x}, {out: np.float32}), {"x": x})[out]
    for row, result in zip(x, got, strict=True):
        largest, total = -f32(np.inf), f32(0)
        for value in row:
            largest = max(largest, value)
        powers = mathlib.exp(row - largest)
        for power in powers:
            total = total + power
        assert np.array_equal(result, powers / total)


def test_float_products_are_flagged() -> None:
    """A float Gemm is not bit-exact; neither is what follows from it; the other output is."""
    x = np.random.default_rng(2).standard_normal((2, 4)).astype(np.float32)
    b = Builder()
    product = b.op("Gemm", "x", b.const(np.eye(4), np.float32))
    after, beside = b.op("Relu", product), b.op("Tanh", "x")
    model = b.model({"x": x}, {after: np.float32, beside: np.float32})
    evaluator = Evaluator(model)
    assert evaluator.exact_outputs == {beside}
    np.testing.assert_allclose(evaluator.run({"x": x})[after], np.maximum(x, 0))


@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose"])
def test_float_convolutions(kind: str) -> None:
    g = np.random.default_rng(3)
    x, w = g.standard_normal((2, 4, 8, 9)).astype(np.float32), g.standard_normal((4, 2, 3, 2)).astype(np.float32)
    b = Builder()
    bias = b.const(np.arange(4), np.float32)
    out = b.op(kind, "x", b.const(w), bias, group=2, strides=[2, 1], dilations=[1, 2], pads=[1, 0, 0, 1])
    model = b.model({"x": x}, {out: np.float32})
    np.testing.assert_allclose(run(model, {"x": x})[out], run_onnxruntime(model, {"x": x})[0], rtol=1e-5, atol=1e-5)


def test_integer_arithmetic_stays_whole() -> None:
    b = Builder()
    shape = b.op("Shape", "x")
    half = b.op("Div", shape, b.const([2], np.int64))
    out = b.op("Mul", half, shape)
    x = np.zeros((5, 3), np.float32)
    assert run(b.model({"x": x}, {out: np.int64}), {"x": x})[out].tolist() == [10, 3]
