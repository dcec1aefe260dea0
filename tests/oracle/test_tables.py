"""Clause 9: tables are the correctly rounded function, whatever processor computes them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from math import erf, exp, log, log1p, tanh
from typing import Any

import numpy as np
import pytest

from edgec.oracle import Evaluator
from tests.oracle.models import Builder

f32 = np.float32
ALL = np.arange(256).astype(np.uint8)


def entries(kind: str, x_scale: float, x_zero: int, y_scale: float, y_zero: int, *, constant: Any = None, **attributes: Any) -> Any:
    """The table of one operator, through the evaluator."""
    b = Builder(24 if kind == "Swish" else 21)
    x = b.dequantize("x", x_scale, np.uint8(x_zero))
    operands = [x] if constant is None else [x, b.const(constant, np.float32)]
    out = b.quantize(b.op(kind, *operands, **attributes), y_scale, np.uint8(y_zero))
    evaluator = Evaluator(b.model({"x": ALL}, {out: np.uint8}))
    assert [step.raw for step, _ in evaluator.steps] == [True, True]
    return evaluator.run({"x": ALL})[out]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_scale_near_the_largest_float_overflows_in_silence() -> None:
    b = Builder(21)
    out = b.op("Identity", b.dequantize("x", 3e38, np.uint8(0)))
    (y,) = Evaluator(b.model({"x": ALL[:4]}, {out: np.float32})).run({"x": ALL[:4]}).values()
    assert y.tolist() == [0, float(f32(3e38)), np.inf, np.inf]


REFERENCE = {
    "Relu": lambda v: max(v, 0), "Sigmoid": lambda v: 1 / (1 + exp(-v)), "Tanh": tanh, "Erf": erf, "Exp": exp, "Abs": abs,
    "Neg": lambda v: -v,
    "HardSwish": lambda v: v * min(max(v / 6 + 0.5, 0), 1), "Softplus": lambda v: log1p(exp(v)), "Softsign": lambda v: v / (1 + abs(v)),
    "Mish": lambda v: v * tanh(log1p(exp(v))), "Gelu": lambda v: v / 2 * (1 + erf(v / 2**0.5)), "Swish": lambda v: v / (1 + exp(-v)),
    "Elu": lambda v: v if v > 0 else exp(v) - 1, "LeakyRelu": lambda v: v if v > 0 else float(f32(0.01)) * v, "Ceil": np.ceil,
    "Floor": np.floor, "Round": np.rint, "HardSigmoid": lambda v: min(max(float(f32(0.2)) * v + 0.5, 0), 1),
    "Selu": lambda v: 1.05070102214813232421875 * (v if v > 0 else 1.67326319217681884765625 * (exp(v) - 1)),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFERENCE)
def test_functions(kind: str) -> None:
    """Equal to double arithmetic wherever that is not within 1e-9 of a tie."""
    x_scale, y_scale = f32(0.043), f32(0.017)
    got = entries(kind, x_scale, 120, y_scale, 50)
    exact = np.array([REFERENCE[kind]((int(q) - 120) * float(x_scale)) / float(y_scale) for q in ALL])
    sure = np.abs(np.abs(exact - np.floor(exact)) - 0.5) > 1e-9
    expected = np.clip(np.rint(exact), -50, 205) + 50
    assert sure.sum() >= 250
    assert np.array_equal(got[sure], expected[sure].astype(np.uint8))


def test_exact_values_keep_their_ties() -> None:
    """sigmoid(0) = 1/2 and Round(5/2) = 2 lie exactly on a tie."""
    assert entries("Sigmoid", 0.1, 7, 1.0, 0)[7] == 0
    assert entries("Sigmoid", 0.1, 7, 1.0, 0)[8] == 1
    assert entries("Round", 0.5, 0, 1.0, 0)[:8].tolist() == [0, 0, 1, 2, 2, 2, 3, 4]
    assert entries("Mul", 1.0, 0, 1.0, 0, constant=0.5)[:6].tolist() == [0, 0, 1, 2, 2, 2]


def test_undefined_and_infinite_results() -> None:
    assert entries("Log", 1.0, 2, 0.1, 33)[:4].tolist() == [33, 33, 0, 33]
    assert entries("Reciprocal", 1.0, 2, 0.1, 33)[2] == 255
    assert entries("Pow", 1.0, 2, 0.1, 33, constant=-1.0)[2] == 255
    assert entries("Div", 1.0, 2, 0.1, 33, constant=0.0)[:4].tolist() == [0, 0, 33, 255]
    assert entries("Sqrt", 1.0, 2, 0.1, 33)[:4].tolist() == [33, 33, 33, 43]
    assert entries("Exp", 1000.0, 128, 1.0, 0)[[0, 127, 128, 129, 255]].tolist() == [0, 0, 1, 255, 255]


@pytest.mark.parametrize(
    "kind, first, constant, function",
    [
        ("Sub", True, 0.3, lambda v: v - float(f32(0.3))), ("Sub", False, 0.3, lambda v: float(f32(0.3)) - v),
        ("Div", True, 3.0, lambda v: v / 3), ("Pow", True, 2.0, lambda v: v * v), ("Pow", False, 2.0, lambda v: 2.0**v), 
        ("Max", True, 0.2, lambda v: max(v, float(f32(0.2)))),
        ("Min", False, 0.2, lambda v: min(v, float(f32(0.2)))), ("Add", True, [[0.7]], lambda v: v + float(f32(0.7))),
    ],
)  # fmt: skip
def test_scalar_operands(kind: str, first: bool, constant: Any, function: Any) -> None:
    b = Builder()
    x = b.dequantize("x", 0.031, np.uint8(100))
    operands = [x, b.const(constant, np.float32)]
    out = b.quantize(b.op(kind, *(operands if first else operands[::-1])), 0.02, np.uint8(90))
    rows = ALL.reshape(16, 16)
    got = Evaluator(b.model({"x": rows}, {out: np.uint8})).run({"x": rows})[out].ravel()
    exact = np.array([function((int(q) - 100) * float(f32(0.031))) / float(f32(0.02)) for q in ALL])
    assert np.abs(got - (np.clip(np.rint(exact), -90, 165) + 90)).max() == 0


def test_chains_of_functions_are_one_table() -> None:
    b = Builder()
    x = b.op("Div", b.op("HardSwish", b.dequantize("x", 0.05, np.uint8(128))), b.const(0.7, np.float32))
    out = b.quantize(b.op("Max", b.op("Sub", b.const(0.3, np.float32), x), b.const(-3.0, np.float32)), 0.021, np.uint8(150))
    evaluator = Evaluator(b.model({"x": ALL}, {out: np.uint8}))
    assert [step.raw for step, _ in evaluator.steps] == [True, True]
    reals = (ALL.astype(np.float64) - 128) * float(f32(0.05))
    swish = reals * np.clip(reals / 6 + 0.5, 0, 1)
    exact = np.maximum(float(f32(0.3)) - swish / float(f32(0.7)), -3) / float(f32(0.021))
    assert np.array_equal(evaluator.run({"x": ALL})[out], np.clip(np.rint(exact) + 150, 0, 255))


@pytest.mark.parametrize("inner", ["Reciprocal", "Log", "Exp"])
def test_functions_that_may_be_infinite_end_a_chain(inner: str) -> None:
    b = Builder()
    value = b.op(inner, b.dequantize("x", 1.0, np.uint8(2)))
    out = b.quantize(b.op("Neg", value), 0.1, np.uint8(33))
    assert [step.raw for step, _ in Evaluator(b.model({"x": ALL}, {out: np.uint8})).steps] == [True, False, False, False]


def test_what_others_read_ends_a_chain() -> None:
    b = Builder()
    value = b.op("Sigmoid", b.dequantize("x", 0.05, np.uint8(128)))
    out = b.quantize(b.op("Neg", value), 0.01, np.uint8(200))
    steps = Evaluator(b.model({"x": ALL}, {out: np.uint8, value: np.float32})).steps
    assert [step.raw for step, _ in steps] == [True, False, False, False]


@pytest.mark.parametrize("alpha", [None, 1.702])
def test_x_times_sigmoid_is_swish(alpha: float | None) -> None:
    b = Builder()
    x = b.dequantize("x", 0.05, np.uint8(128))
    scaled = x if alpha is None else b.op("Mul", x, b.const(alpha, np.float32))
    out = b.quantize(b.op("Mul", b.op("Sigmoid", scaled), x), 0.03, np.uint8(10))
    evaluator = Evaluator(b.model({"x": ALL}, {out: np.uint8}))
    assert [step.raw for step, _ in evaluator.steps] == [True, True]
    assert np.array_equal(evaluator.run({"x": ALL})[out], entries("Swish", 0.05, 128, 0.03, 10, alpha=1.0 if alpha is None else alpha))


def digest() -> str:
    """All transcendental tables, the mirrors of the C functions, and a convolution, in one hash."""
    from edgec.oracle import mathlib

    parts = [entries(kind, 0.05, 128, 0.02, 40).tobytes() for kind in ("Exp", "Sigmoid", "Tanh", "Erf", "Gelu", "Mish", "Softplus")]
    x = np.linspace(-20, 20, 10_001, dtype=np.float32)
    parts += [f(x).tobytes() for f in (mathlib.exp, mathlib.tanh, mathlib.erf, mathlib.sigmoid, mathlib.sin)]
    parts += [mathlib.log(np.abs(x)).tobytes(), mathlib.power(np.abs(x), x).tobytes()]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def test_independent_of_numpy_features() -> None:
    """The same bytes when numpy may not use the processor's vector extensions."""
    found = np._core._multiarray_umath.__cpu_dispatch__  # type: ignore[attr-defined]
    features = " ".join(name for name in found if np._core._multiarray_umath.__cpu_features__[name])  # type: ignore[attr-defined]
    environment = {**os.environ, "NPY_DISABLE_CPU_FEATURES": features}
    command = [sys.executable, "-c", "from tests.oracle.test_tables import digest; print(digest())"]
    result = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, cwd=os.getcwd())
    assert result.stdout.strip() == digest()


def test_log_of_one_is_zero() -> None:
    assert entries("Log", 0.25, 0, 0.01, 128)[4] == 128
    assert entries("Log", 0.25, 0, 0.01, 128)[8] == 128 + round(log(2) / float(f32(0.01)))


def test_tiny_scales_keep_their_digits() -> None:
    """Near 0, tanh(x) and e^x - 1 are x, also at 2^-100; the square root of a square is exact there."""
    tiny = 2.0**-100
    assert entries("Tanh", tiny, 100, tiny, 100).tolist() == ALL.tolist()
    assert entries("Elu", tiny, 100, tiny, 100).tolist() == ALL.tolist()
    assert entries("Sqrt", tiny, 0, 2.0**-49, 0)[[0, 1, 9, 25, 81]].tolist() == [0, 0, 2, 2, 4]
