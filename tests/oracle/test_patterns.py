"""What the evaluator takes for an integer pattern, against the clauses written out a second time in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import parser

from edgec.base.errors import UsageError
from edgec.oracle import Evaluator, run
from tests.oracle.models import Builder, random_q, run_onnxruntime

f32 = np.float32
finite_scales = st.floats(2.0**-60, 2.0**60, width=32)
codes = st.integers(0, 255)


def settle(v: Any, zero: int, low: int = 0, high: int = 255) -> int:
    """clamp(rint(v), low - zero, high - zero) + zero for one binary32 number."""
    return int(min(max(np.rint(f32(v)), f32(low - zero)), f32(high - zero))) + zero


def evaluate(b: Builder, out: str, inputs: dict[str, np.ndarray], dtype: Any = np.uint8) -> np.ndarray:
    return run(b.model(inputs, {out: dtype}), inputs)[out]


@pytest.mark.parametrize("x_zero, w_zero", [(0, 0), (-128, 0), (127, 5)])
def test_extreme_weights_are_exact(x_zero: int, w_zero: int) -> None:
    """-128 times -128, summed 1000 times, with and without zero points."""
    x, w = np.full((1, 1000), -128, np.int8), np.full((1000, 3), -128, np.int8)
    w[:, 1], w[:, 2] = 127, np.arange(1000) % 256 - 128
    b = Builder()
    product = b.op("MatMul", b.dequantize("x", 0.5, np.int8(x_zero)), b.dequantize(b.const(w), 0.25, np.int8(w_zero)))
    out = b.quantize(product, 20000.0, np.int8(3))
    sums = [sum((-128 - x_zero) * (int(v) - w_zero) for v in w[:, c]) for c in range(3)]
    expected = [settle(f32(s) * f32(f32(0.125) / f32(20000)), 3, -128, 127) for s in sums]
    assert evaluate(b, out, {"x": x}, np.int8).tolist() == [expected]


def test_sums_beyond_binary32_are_exact() -> None:
    """The last unit of a sum above 2^24 decides the rounding to binary32."""
    x, w = np.full((1, 2000), 255, np.uint8), np.full((2000, 1), 127, np.int8)
    w[0], w[1] = 126, 0
    b = Builder()
    bias = b.dequantize(b.const(np.array([1], np.int32)), f32(1), np.int32(0))
    product = b.op("Gemm", b.dequantize("x", 1.0, np.uint8(0)), b.dequantize(b.const(w), 1.0, np.int8(0)), bias)
    out = b.quantize(product, 262144.0, np.uint8(0))
    total = 255 * (1998 * 127 + 126) + 1
    assert evaluate(b, out, {"x": x}).item() == settle(f32(total) * (f32(1) / f32(262144)), 0)


def test_layers_that_could_overflow_stay_in_float() -> None:
    b = Builder()
    w = np.full((70000, 1), -128, np.int8)
    out = b.quantize(b.op("MatMul", b.dequantize("x", 0.5, np.uint8(0)), b.dequantize(b.const(w), 0.25, np.int8(0))), 1.0, np.uint8(0))
    evaluator = Evaluator(b.model({"x": np.zeros((1, 70000), np.uint8)}, {out: np.uint8}))
    assert evaluator.exact_outputs == frozenset()


@pytest.mark.parametrize("activation, bounds", [("Relu", (0, np.inf)), ("Clip", (-0.3, 6)), ("Clip", (None, 1.0))])
@pytest.mark.parametrize("kind", ["Add", "Mul", "GlobalAveragePool"])
def test_activations_narrow_the_range(kind: str, activation: str, bounds: tuple[float | None, float]) -> None:
    g = np.random.default_rng(0)
    x, y = random_q(g, (1, 4, 3, 3), np.uint8), random_q(g, (1, 4, 3, 3), np.uint8)
    plain, fused = Builder(), Builder()
    outs = []
    for b in (plain, fused):
        operands = [b.dequantize("x", 0.11, np.uint8(100))]
        operands += [] if kind == "GlobalAveragePool" else [b.dequantize("y", 0.07, np.uint8(120))]
        value = b.op(kind, *operands)
        if b is fused:
            limits = [] if activation == "Relu" else ["" if v is None else b.const(v, np.float32) for v in bounds]
            value = b.op(activation, value, *limits)
        outs.append(b.quantize(value, 0.05, np.uint8(60)))
    inputs = {"x": x} if kind == "GlobalAveragePool" else {"x": x, "y": y}
    before, after = (evaluate(b, out, inputs) for b, out in zip((plain, fused), outs, strict=True))
    low, high = (None if v is None else settle(f32(v) * (f32(1) / f32(0.05)), 60) for v in bounds)
    assert np.array_equal(after, np.clip(before, low, high))
    assert not np.array_equal(before, after)


@settings(max_examples=60, deadline=None)
@given(scales=st.tuples(*[finite_scales] * 3), zeros=st.tuples(*[codes] * 3), given_codes=st.lists(codes, min_size=4, max_size=4))
def test_elementwise_formulas(scales: tuple[float, ...], zeros: tuple[int, ...], given_codes: list[int]) -> None:
    """Clauses 5, 6 and 7, one operation at a time, over scales of every size."""
    (s_x, s_y, s_z), (z_x, z_y, z_z) = (f32(s) for s in scales), zeros
    x, y = np.array(given_codes[:2], np.uint8), np.array(given_codes[2:], np.uint8)
    b = Builder()
    p, q = b.dequantize("x", s_x, np.uint8(z_x)), b.dequantize("y", s_y, np.uint8(z_y))
    outs = [b.quantize(b.op(kind, p, q), s_z, np.uint8(z_z)) for kind in ("Add", "Sub", "Mul")]
    outs.append(b.quantize(b.op("Concat", p, q, axis=0), s_z, np.uint8(z_z)))
    evaluator = Evaluator(b.model({"x": x, "y": y}, dict.fromkeys(outs, np.uint8)))
    with np.errstate(all="ignore"):
        ratios = [s_x / s_z, s_y / s_z, s_x * s_y / s_z]
        if max(ratios) > 2.0**64:
            return
        got = evaluator.run({"x": x, "y": y})
        for i in range(2):
            u, v = f32(int(x[i]) - z_x), f32(int(y[i]) - z_y)
            assert got[outs[0]][i] == settle(u * ratios[0] + v * ratios[1], z_z)
            assert got[outs[1]][i] == settle(u * ratios[0] - v * ratios[1], z_z)
            assert got[outs[2]][i] == settle(u * v * ratios[2], z_z)
            same = [s_x == s_z and z_x == z_z, s_y == s_z and z_y == z_z]
            if (s_x, z_x) != (s_y, z_y):
                assert got[outs[3]][i] == (x[i] if same[0] else settle(u * ratios[0], z_z))
                assert got[outs[3]][2 + i] == (y[i] if same[1] else settle(v * ratios[1], z_z))


@settings(max_examples=100, deadline=None)
@given(x=st.lists(st.floats(width=32), min_size=1, max_size=8), scale=st.floats(2.0**-100, 2.0**100, width=32), zero=codes)
def test_quantize(x: list[float], scale: float, zero: int) -> None:
    """Clause 2, NaN and infinities included; clause 3 on the way back."""
    b = Builder()
    q = b.quantize("x", scale, np.uint8(zero))
    back = b.dequantize(q, scale, np.uint8(zero))
    array = np.array(x, np.float32)
    results = Evaluator(b.model({"x": array}, {q: np.uint8, back: np.float32})).run({"x": array})
    for value, code, real in zip(array, results[q], results[back], strict=True):
        with np.errstate(all="ignore"):
            expected = zero if np.isnan(value) else settle(value * (f32(1) / f32(scale)), zero)
            assert code == expected
            assert real == f32(int(code) - zero) * f32(scale)


def test_ties_go_to_even() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 254.5, 255.5], np.float32)
    b = Builder()
    out = b.quantize("x", 1.0, np.int8(0))
    assert evaluate(b, out, {"x": x}, np.int8).tolist() == [0, 2, 2, 0, -2, 127, 127]


def test_bias_is_rounded_in_exact_arithmetic() -> None:
    """A float bias that lies on a tie, and two that lie a last place beside it."""
    s_x, s_w = f32(0.3), f32(0.7)
    tie = float(Fraction(float(s_x)) * Fraction(float(s_w)) * Fraction(5, 2))
    bias = np.array([tie, np.nextafter(f32(tie), f32(9)), np.nextafter(f32(tie), f32(-9))], np.float32)
    b = Builder()
    w = b.dequantize(b.const(np.zeros((1, 3), np.int8)), s_w, np.int8(0))
    out = b.quantize(b.op("Gemm", b.dequantize("x", s_x, np.uint8(0)), w, b.const(bias)), f32(s_x * s_w), np.uint8(0))
    expected = [round(Fraction(float(v)) / (Fraction(float(s_x)) * Fraction(float(s_w)))) for v in bias]
    assert evaluate(b, out, {"x": np.zeros((1, 1), np.uint8)}).tolist() == [expected]
    assert len(set(expected)) == 2


def test_transposed_convolution_equals_onnxruntime_in_float() -> None:
    """Small integers and powers of two, so that binary32 is exact: groups, dilation, output padding, asymmetric pads."""
    g = np.random.default_rng(2)
    x, w = random_q(g, (1, 4, 5, 6), np.uint8), g.integers(-7, 8, (4, 3, 3, 2)).astype(np.int8)
    attributes = {"group": 2, "strides": [2, 3], "dilations": [1, 2], "pads": [1, 0, 0, 2], "output_padding": [1, 0]}
    b = Builder()
    weights = b.dequantize(b.const(w), np.array([0.5, 1, 0.25], np.float32), np.zeros(3, np.int8), axis=1)
    bias = b.const(np.arange(6), np.float32)
    value = b.op("ConvTranspose", b.dequantize("x", 1.0, np.uint8(128)), weights, bias, **attributes)
    out = b.quantize(value, 4.0, np.uint8(100))
    model = b.model({"x": x}, {out: np.uint8})
    assert Evaluator(model).exact_outputs == {out}
    assert np.array_equal(run(model, {"x": x})[out], run_onnxruntime(model, {"x": x})[0])


def movement(b: Builder, x: str) -> str:
    """Every data movement once, from [1, 8, 4, 6]."""
    y = b.op("Transpose", x, perm=[0, 2, 3, 1])
    y = b.op("Reshape", y, b.const([1, 4, 6, 8]))
    y = b.op("Transpose", y, perm=[0, 3, 1, 2])
    y = b.op("DepthToSpace", y, blocksize=2)
    y = b.op("SpaceToDepth", y, blocksize=2)
    y = b.op("Slice", y, b.const([0, 5]), b.const([6, 0]), b.const([1, 3]), b.const([1, -1]))
    y = b.op("Gather", y, b.const([3, 0, 1]), axis=1)
    y = b.op("Pad", y, b.const([0, 0, 1, 0, 0, 0, 0, 2]), b.const(0.0, np.float32))
    y = b.op("Resize", y, "", b.const([1, 1, 2, 1.5], np.float32), mode="nearest")
    y = b.op("Unsqueeze", y, b.const([0]))
    y = b.op("Squeeze", y, b.const([0]))
    y = b.op("Expand", y, b.const([2, 3, 10, 10]))
    y = b.op("Concat", y, b.op("Identity", y), axis=0)
    return b.op("Flatten", y, axis=2)


@pytest.mark.parametrize("ends_in_float", [False, True])
def test_movement_moves_codes(ends_in_float: bool) -> None:
    x = random_q(np.random.default_rng(3), (1, 8, 4, 6), np.int8)
    b = Builder()
    value = movement(b, b.dequantize("x", 0.1, np.int8(-9)))
    out = value if ends_in_float else b.quantize(value, 0.1, np.int8(-9))
    model = b.model({"x": x}, {out: np.float32 if ends_in_float else np.int8})
    evaluator = Evaluator(model)
    assert all(step.raw for step, _ in evaluator.steps)
    expected = run_onnxruntime(model, {"x": x})[0]
    results = evaluator.run({"x": x}, quantized_outputs=True)
    assert np.array_equal(results[out], expected)
    if ends_in_float:
        key = evaluator.quantized_outputs[out]
        assert np.array_equal((results[key].astype(np.float32) + 9) * f32(0.1), expected)


def test_a_second_reader_ends_the_pattern() -> None:
    """The sum is also an output: it stays in float, exactly, and its code follows from it."""
    x = random_q(np.random.default_rng(4), (4, 4), np.uint8)
    b = Builder()
    operand = b.dequantize("x", 0.1, np.uint8(3))
    value = b.op("Add", operand, operand)
    out = b.quantize(value, 0.15, np.uint8(0))
    evaluator = Evaluator(b.model({"x": x}, {out: np.uint8, value: np.float32}))
    results = evaluator.run({"x": x})
    real = (x.astype(np.float32) - 3) * f32(0.1)
    assert np.array_equal(results[value], real + real)
    assert [step.raw for step, _ in evaluator.steps] == [True, False, False]
    assert evaluator.exact_outputs == {out, value}


def test_wrong_inputs_are_named() -> None:
    b = Builder()
    model: onnx.ModelProto = b.model({"x": np.zeros(3, np.float32)}, {b.quantize("x", 1.0, np.uint8(0)): np.uint8})
    with pytest.raises(UsageError, match="'x'"):
        run(model, {"y": np.zeros(3, np.float32)})


def ending_in_float(op: str, weights: np.ndarray, *, zero: Any = None, **attributes: Any) -> Builder:
    """x, 8-bit codes, times `weights` with a bias; the float result is the last value."""
    b = Builder()
    zero = np.int8(0) if zero is None else zero
    w = b.dequantize(b.const(weights), f32(0.07), zero)
    bias = [b.const(np.linspace(-3, 3, attributes.pop("biases")), np.float32)] if "biases" in attributes else []
    b.op(op, b.dequantize("x", f32(0.3), np.uint8(77)), w, *bias, **attributes)
    return b


TAILS: dict[str, Callable[[Builder, str], str]] = {
    "": lambda b, y: y, "Relu": lambda b, y: b.op("Relu", y), "Add": lambda b, y: b.op("Add", y, y), "Neg": lambda b, y: b.op("Neg", y),
}  # fmt: skip


@pytest.mark.parametrize("tail", TAILS)
def test_products_end_in_float_exactly(tail: str) -> None:
    """Clause 4 without a QuantizeLinear: one rounding of the sum, one of the product; sums above 2^24 and a bias on a tie."""
    g = np.random.default_rng(5)
    x, w = random_q(g, (3, 6000), np.uint8), g.choice([-127, -3, 127], (6000, 4), p=[0.1, 0.2, 0.7]).astype(np.int8)
    scales = np.array([0.07, 0.011, 0.5, 2.0**-40], np.float32)
    bias = np.array([1e5, -0.3, 5 / 2 * f32(0.5) * f32(0.3), 0], np.float32)
    b = Builder()
    weights = b.dequantize(b.const(w), scales, np.zeros(4, np.int8), axis=1)
    product = b.op("Gemm", b.dequantize("x", f32(0.3), np.uint8(77)), weights, b.const(bias))
    out = TAILS[tail](b, product)
    outputs = {out: np.float32} | ({product: np.float32, b.quantize(product, 0.5, np.uint8(3)): np.uint8} if tail == "Neg" else {})
    evaluator = Evaluator(b.model({"x": x}, outputs))
    assert evaluator.exact_outputs == set(outputs)
    found = evaluator.run({"x": x})[out]
    sums = (x.astype(np.int64) - 77) @ w.astype(np.int64)
    assert np.abs(sums).max() > 2**24
    for row, c in np.ndindex(3, 4):
        whole = round(Fraction(float(bias[c])) / (Fraction(float(f32(0.3))) * Fraction(float(scales[c]))))
        value = f32(int(sums[row, c]) + whole) * f32(f32(0.3) * scales[c])
        assert found[row, c] == {"": value, "Relu": max(f32(0), value), "Add": value + value, "Neg": -value}[tail]


def test_what_clause_4_ends_in_float() -> None:
    """Exact: convolutions of one group and of several, transposed ones, wide weights. Islands: depthwise ones, large sums."""
    g = np.random.default_rng(6)
    narrow = g.integers(-127, 128, (8, 2, 3, 3)).astype(np.int8)
    cases = [
        (ending_in_float("Conv", narrow, biases=8), (1, 2, 5, 5), True),
        (ending_in_float("Conv", narrow, group=4), (1, 8, 5, 5), True),
        (ending_in_float("ConvTranspose", narrow, group=2, strides=[2, 2], biases=4), (1, 8, 4, 4), True),
        (ending_in_float("MatMul", narrow[:, :, 0, 0].copy()), (2, 3, 8), True),
        (ending_in_float("Conv", narrow[:, :1].copy(), group=8), (1, 8, 5, 5), False),
        (ending_in_float("ConvTranspose", narrow, group=8), (1, 8, 4, 4), False),
        (ending_in_float("MatMul", np.full((8, 2), -128, np.int8)), (2, 8), True),
        (ending_in_float("MatMul", np.full((8, 2), 3, np.uint8), zero=np.uint8(131)), (2, 8), True),
        (ending_in_float("MatMul", np.full((70000, 1), 127, np.int8)), (1, 70000), False),
        (ending_in_float("Gemm", narrow[:, :, 0, 0].copy(), alpha=0.5), (2, 8), False),
    ]  # fmt: skip
    for b, shape, exact in cases:
        out = b.nodes[-1].output[0]
        x = random_q(g, shape, np.uint8)
        model = b.model({"x": x}, {out: np.float32})
        evaluator = Evaluator(model)
        assert (out in evaluator.exact_outputs) == exact, b.nodes[-1]
        np.testing.assert_allclose(evaluator.run({"x": x})[out], run_onnxruntime(model, {"x": x})[0], rtol=1e-4, atol=0.02)


def test_outputs_that_the_model_does_not_name() -> None:
    """Unique says up to four things."""
    text = '<ir_version: 9, opset_import: ["": 21]> g (int64[5] x) => ({}) {{ {} = Unique(x) }}'
    x = {"x": np.array([3, 1, 3, 1, 2])}
    for outputs, found in (("y", [1, 2, 3]), ('"", y', [1, 4, 0]), ('"", "", y', [2, 0, 2, 0, 1])):
        assert run(parser.parse_model(text.format("y", outputs)), x)["y"].tolist() == found
