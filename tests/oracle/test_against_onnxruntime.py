"""ONNX Runtime's integer operators, one at a time, give the evaluator's bytes (clause 12 lists the exceptions).

Its x86 kernels without VNNI saturate for unsigned times signed: it gets the weights as unsigned ones, shifted by 128 together
with their zero point, which is the same sum.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest

from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.integer import match
from edgec.integer.operators import PairProduct
from edgec.oracle import Evaluator, run
from edgec.program.functions import FUNCTIONS
from tests.oracle.models import Builder, random_q, run_onnxruntime
from tests.oracle.references import gelu, gelu_tanh, swish

SEEDS = range(12)


def parameters(generator: np.random.Generator, dtype: Any, size: int | None = None) -> tuple[Any, Any]:
    """(scale, zero point): a power of two one time in three, so that ties occur."""
    scale = np.float32(generator.uniform(0.004, 0.1, size))
    if generator.integers(3) == 0:
        scale = np.exp2(generator.integers(-7, -2, size)).astype(np.float32)
    info = np.iinfo(dtype)
    zero = generator.integers(info.min, info.max + 1) if generator.integers(4) else info.min
    return scale, np.asarray(zero, dtype)


def shifted(w: np.ndarray) -> np.ndarray:
    """Signed codes or zero points as unsigned ones of the same meaning."""
    return (w.astype(np.int16) + 128).astype(np.uint8) if w.dtype == np.int8 else w


def convolution(seed: int) -> dict[str, Any]:
    """A random convolution: shapes, geometry, parameters."""
    g = np.random.default_rng(seed)
    group = int(g.choice([1, 1, 2, 3]))
    inner, outer = int(g.integers(1, 6)), int(g.integers(1, 5)) * group
    if seed % 4 == 3:
        group, inner, outer = 6, 1, 6
    kernel, strides = [int(v) for v in g.integers(1, 4, 2)], [int(v) for v in g.integers(1, 3, 2)]
    dilations, pads = [int(v) for v in g.integers(1, 3, 2)], [int(v) for v in g.integers(0, 2, 4)]
    x_dtype, w_dtype = g.choice([np.uint8, np.int8]), g.choice([np.uint8, np.int8])
    x_scale, x_zero = parameters(g, x_dtype)
    y_scale, y_zero = parameters(g, x_dtype)
    w_scale, w_zero = parameters(g, w_dtype, outer if seed % 2 else None)
    if seed % 2:
        w_zero = np.full(outer, w_zero if w_dtype == np.uint8 else 0, w_dtype)
    return {
        "x": random_q(g, (int(g.integers(1, 3)), inner * group, *(int(v) for v in g.integers(7, 12, 2))), x_dtype),
        "w": random_q(g, (outer, inner, *kernel), w_dtype), "bias": g.integers(-2000, 2000, outer).astype(np.int32),
        "x_scale": x_scale, "x_zero": x_zero, "y_scale": np.float32(y_scale * 20 * inner), "y_zero": y_zero, 
        "w_scale": w_scale, "w_zero": w_zero, "attributes": {"group": group, "strides": strides, "dilations": dilations, "pads": pads},
    }  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_convolution(seed: int) -> None:
    case = convolution(seed)
    b, a = Builder(), Builder()
    x = b.dequantize("x", case["x_scale"], case["x_zero"])
    w = b.dequantize(b.const(case["w"]), case["w_scale"], case["w_zero"], axis=0)
    steps = np.float32(case["x_scale"] * case["w_scale"])
    bias = b.dequantize(b.const(case["bias"]), steps, np.zeros(steps.shape, np.int32), axis=0)
    out = b.quantize(b.op("Conv", x, w, bias, **case["attributes"]), case["y_scale"], case["y_zero"])
    evaluator = Evaluator(b.model({"x": case["x"]}, {out: case["x"].dtype}))
    assert [step.node.op for step, _ in evaluator.steps].count("Conv") == 1 and all(step.exact for step, _ in evaluator.steps)
    got = evaluator.run({"x": case["x"]})[out]

    x = shifted(case["x"])  # its kernels take signed data with signed weights only
    parts = [case["x_scale"], shifted(case["x_zero"]), shifted(case["w"]), case["w_scale"], shifted(case["w_zero"]), case["y_scale"]]
    names = [a.const(part) for part in (*parts, shifted(case["y_zero"]), case["bias"])]
    y = a.op("QLinearConv", "x", *names, **case["attributes"])
    assert np.array_equal(shifted(got), run_onnxruntime(a.model({"x": x}, {y: np.uint8}), {"x": x})[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_matrix_product(seed: int) -> None:
    g = np.random.default_rng(100 + seed)
    rows, inner, columns = (int(v) for v in g.integers(1, 40, 3))
    w_dtype = np.uint8 if seed % 2 else np.int8
    x, w = random_q(g, (rows, inner), np.uint8), random_q(g, (inner, columns), w_dtype)
    (x_scale, x_zero), (w_scale, w_zero), (y_scale, y_zero) = (parameters(g, dtype) for dtype in (np.uint8, w_dtype, np.uint8))
    y_scale = np.float32(y_scale * inner)
    b, a = Builder(), Builder()
    product = b.op("MatMul", b.dequantize("x", x_scale, x_zero), b.dequantize(b.const(w), w_scale, w_zero))
    out = b.quantize(product, y_scale, y_zero)
    got = run(b.model({"x": x}, {out: np.uint8}), {"x": x})[out]
    parts = [x_scale, x_zero, shifted(w), w_scale, shifted(w_zero), y_scale, y_zero]
    y = a.op("QLinearMatMul", "x", *(a.const(part) for part in parts))
    assert np.array_equal(got, run_onnxruntime(a.model({"x": x}, {y: np.uint8}), {"x": x})[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_product_of_two_computed_matrices(seed: int) -> None:
    """Also as the importer reads QLinearMatMul."""
    g = np.random.default_rng(150 + seed)
    rows, inner, columns = (int(v) for v in g.integers(1, 40, 3))
    lead = (2, 3)[: seed % 3]
    inputs = {"x": random_q(g, (*lead, rows, inner), np.uint8), "w": random_q(g, (*lead, inner, columns), np.uint8)}
    x, w, (y_scale, y_zero) = (parameters(g, np.uint8) for _ in range(3))
    y_scale = np.float32(y_scale * inner)
    b, a = Builder(), Builder()
    out = b.quantize(b.op("MatMul", b.dequantize("x", *x), b.dequantize("w", *w)), y_scale, y_zero)
    got = run(b.model(inputs, {out: np.uint8}), inputs)[out]
    left, right = ([a.const(part) for part in parts] for parts in (x, w))
    y = a.op("QLinearMatMul", "x", *left, "w", *right, a.const(y_scale), a.const(y_zero))
    model = a.model(inputs, {y: np.uint8})
    imported = from_proto(model).graph
    assert [type(found) for found in match(imported).operators] == [PairProduct]
    evaluator = Evaluator(to_onnx(imported))
    assert evaluator.exact_outputs == {y} and np.array_equal(evaluator.run(inputs)[y], got)
    assert np.array_equal(got, run_onnxruntime(model, inputs)[0])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["Add", "Mul"])
def test_elementwise(kind: str, seed: int) -> None:
    """Within one step, and only where the exact result lies within 2^-14 of a tie."""
    g = np.random.default_rng(200 + seed)
    x, y = random_q(g, (2, 5, 8, 8), np.uint8), random_q(g, (2, 5, 8, 8) if seed % 3 else (5, 1, 1), np.uint8)
    (x_scale, x_zero), (y_scale, y_zero), (z_scale, z_zero) = (parameters(g, np.uint8) for _ in range(3))
    b, a = Builder(), Builder()
    out = b.quantize(b.op(kind, b.dequantize("x", x_scale, x_zero), b.dequantize("y", y_scale, y_zero)), z_scale, z_zero)
    got = run(b.model({"x": x, "y": y}, {out: np.uint8}), {"x": x, "y": y})[out].astype(int)
    left, right = ([a.const(scale), a.const(zero)] for scale, zero in ((x_scale, x_zero), (y_scale, y_zero)))
    result = a.op(f"QLinear{kind}", "x", *left, "y", *right, a.const(z_scale), a.const(z_zero), domain="com.microsoft")
    theirs = run_onnxruntime(a.model({"x": x, "y": y}, {result: np.uint8}), {"x": x, "y": y})[0].astype(int)
    p, q = (x.astype(float) - x_zero) * float(x_scale), (y.astype(float) - y_zero) * float(y_scale)
    exact = (p + q if kind == "Add" else p * q) / float(z_scale)
    near_tie = np.abs(np.abs(exact - np.floor(exact)) - 0.5) < 2.0**-14
    assert np.abs(got - theirs).max() <= 1
    assert np.array_equal(got[~near_tie], theirs[~near_tie])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["AveragePool", "GlobalAveragePool"])
def test_average(kind: str, seed: int) -> None:
    """Within one step, and only near a tie: ONNX Runtime averages dequantized numbers, or divides by the scale last."""
    g = np.random.default_rng(300 + seed)
    x = random_q(g, (1, 3, 9, 10), np.uint8)
    (x_scale, x_zero), (_, y_zero) = parameters(g, np.uint8), parameters(g, np.uint8)
    y_scale = np.float32(x_scale * g.uniform(0.5, 1.5))
    attributes = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1], "count_include_pad": seed % 2}
    attributes = attributes if kind == "AveragePool" else {}
    b, a = Builder(), Builder()
    out = b.quantize(b.op(kind, b.dequantize("x", x_scale, x_zero), **attributes), y_scale, y_zero)
    got = run(b.model({"x": x}, {out: np.uint8}), {"x": x})[out].astype(int)
    names = [a.const(v) for v in (x_scale, x_zero, y_scale, y_zero)]
    extra = attributes if attributes else {"channels_last": 0}
    y = a.op(f"QLinear{kind}", "x", *names, domain="com.microsoft", **extra)
    theirs = run_onnxruntime(a.model({"x": x}, {y: np.uint8}), {"x": x})[0].astype(int)
    c = Builder()
    plain = c.op(kind, "x", **attributes)
    real = (x.astype(np.float32) - float(x_zero)).astype(np.float32)
    mean = run_onnxruntime(c.model({"x": real}, {plain: np.float32}), {"x": real})[0].astype(float) * float(x_scale) / float(y_scale)
    near_tie = np.abs(np.abs(mean - np.floor(mean)) - 0.5) < 2.0**-12
    assert np.abs(got - theirs).max() <= 1
    assert np.array_equal(got[~near_tie], theirs[~near_tie])


@pytest.mark.parametrize("ceil_mode", [0, 1])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_max_pool(dtype: Any, ceil_mode: int) -> None:
    x = random_q(np.random.default_rng(5), (1, 3, 10, 9), dtype)
    attributes = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": ceil_mode}
    b, a = Builder(), Builder()
    zero = np.asarray(7, dtype)
    out = b.quantize(b.op("MaxPool", b.dequantize("x", 0.02, zero), **attributes), 0.02, zero)
    got = run(b.model({"x": x}, {out: dtype}), {"x": x})[out]
    y = a.op("MaxPool", "x", **attributes)
    assert np.array_equal(got, run_onnxruntime(a.model({"x": x}, {y: dtype}), {"x": x})[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_quantize(seed: int) -> None:
    """ONNX Runtime divides by the scale: within one step, and only near a tie."""
    g = np.random.default_rng(400 + seed)
    scale, zero = parameters(g, np.uint8)
    x = (g.uniform(-300, 300, 20_000) * scale).astype(np.float32)
    x[:600] = (np.arange(-300, 300) + 0.5).astype(np.float32) * scale
    b = Builder()
    out = b.quantize("x", scale, zero)
    model = b.model({"x": x}, {out: np.uint8})
    got, theirs = run(model, {"x": x})[out].astype(int), run_onnxruntime(model, {"x": x})[0].astype(int)
    exact = x.astype(float) / float(scale)
    near_tie = np.abs(np.abs(exact - np.floor(exact)) - 0.5) < 2.0**-14
    assert np.abs(got - theirs).max() <= 1
    assert np.array_equal(got[~near_tie], theirs[~near_tie])


@pytest.mark.parametrize("seed", SEEDS)
def test_products_of_16_bits(seed: int) -> None:
    """ONNX Runtime has floats between codes of 16 bits: one step apart, and what binary32 loses of the sum of magnitudes."""
    g = np.random.default_rng(seed)
    kind = g.choice([np.uint16, np.int16])
    inner, outer = int(g.integers(1, 600)), int(g.integers(1, 9))
    scale, zero = np.float32(g.uniform(1e-5, 1e-3)), np.asarray(g.integers(np.iinfo(kind).min, np.iinfo(kind).max), kind)
    codes, weights = random_q(g, (3, inner), kind), random_q(g, (inner, outer), np.int8).clip(-127)
    steps = g.uniform(0.001, 0.01, outer).astype(np.float32)
    magnitudes = np.abs(codes.astype(np.float64) - int(zero)) @ np.abs(weights.astype(np.float64)) * scale * steps
    end = np.float32(magnitudes.max() / 2**15)
    b = Builder()
    w = b.dequantize(b.const(weights), steps, np.zeros(outer, np.int8), axis=1)
    out = b.quantize(b.op("MatMul", b.dequantize("x", scale, zero), w), end, np.zeros((), np.int16))
    model = b.model({"x": codes}, {out: np.int16})
    evaluator = Evaluator(model)
    assert [step.node.op for step, _ in evaluator.steps] == ["DequantizeLinear", "MatMul"] and evaluator.exact_outputs
    got, theirs = evaluator.run({"x": codes})[out], run_onnxruntime(model, {"x": codes})[0]
    assert (np.abs(got.astype(int) - theirs) <= 1 + 2.0**-20 * magnitudes / end).all()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["Swish", "Gelu none", "Gelu tanh", "HardSwish"])
@pytest.mark.parametrize("apart", [False, True], ids=["alike", "by-channel"])
def test_functions_of_sums(kind: str, apart: bool, seed: int) -> None:
    """Within one step, and only where the exact result is no further from a tie than the function may be from its own.

    apart: times a number for each channel.
    """
    g = np.random.default_rng(500 + seed)
    x, w = random_q(g, (1, 6, 9, 9), np.uint8), random_q(g, (8, 6, 1, 1), np.int8).clip(-127)
    b, scale = Builder(), np.float32(g.uniform(0.005, 0.05))
    sums = b.op("Conv", b.dequantize("x", 0.02, np.uint8(120)), b.dequantize(b.const(w), 0.01, np.int8(0)))
    name, _, form = kind.partition(" ")
    shaped = b.op("Mul", sums, b.op("Sigmoid", sums)) if kind == "Swish" else b.op(name, sums, **({"approximate": form} if form else {}))
    factors = g.uniform(0.2, 3, (8, 1, 1)).astype(np.float32) if apart else np.ones((8, 1, 1), np.float32)
    shaped = b.op("Mul", shaped, b.const(factors)) if apart else shaped
    out = b.quantize(shaped, scale, np.uint8(40))
    model = b.model({"x": x}, {out: np.uint8})
    got = run(model, {"x": x})[out].astype(int)
    model.graph.output.append(onnx.helper.make_tensor_value_info(sums, onnx.TensorProto.FLOAT, None))
    theirs, real = run_onnxruntime(model, {"x": x})
    of = {"Swish": swish, "Gelu none": gelu, "Gelu tanh": gelu_tanh, "HardSwish": lambda v: v * np.clip(v / 6 + 0.5, 0, 1)}[kind]
    steps = factors.astype(np.float64) / float(scale)
    exact = of(real.astype(np.float64)) * steps
    near_tie = np.abs(np.abs(exact - np.floor(exact)) - 0.5) < FUNCTIONS[kind].within * steps + 2.0**-13
    assert np.abs(got - theirs.astype(int)).max() <= 1
    assert np.array_equal(got[~near_tie], theirs[~near_tie]) and not near_tie.all()
