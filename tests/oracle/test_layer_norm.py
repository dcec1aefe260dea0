"""LayerNormalization and RMSNormalization of codes: the evaluator against clause 18 in plain Python, and against ONNX Runtime's floats."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
import onnx
import pytest

from edgec.oracle import Evaluator
from tests.oracle.models import Builder, root_norm, run_onnxruntime

NEAR = Fraction(1, 2**12)  # of a tie, in steps


def network(g: np.random.Generator, count: int, epsilon: float, near: float, centered: bool) -> tuple[onnx.ModelProto, dict[str, Any]]:
    """And its parameters: of x and y a scale and zero point, and scale and bias of each element."""
    kind = g.choice([np.uint8, np.int8])
    info = np.iinfo(kind)
    scales = [np.float32(unit * g.uniform(0.5, 2)) for unit in (near, 0.03)]
    zeros = [np.array(g.integers(info.min, info.max + 1), kind) for _ in range(2)]
    scale, bias = (g.standard_normal(count).astype(np.float32) + np.float32(mean) for mean in (1, 0))
    codes = g.integers(info.min, info.max + 1, (2, 3, count)).astype(kind)
    codes[0, 0] = codes[0, 0, 0]
    codes[1, 1] = np.clip(g.normal(sum(divmod(int(info.min) + int(info.max), 2)), 2, count), info.min, info.max).astype(kind)
    b = Builder()
    x = b.dequantize("x", scales[0], zeros[0])
    if centered:
        y = b.op("LayerNormalization", x, b.const(scale), b.const(bias), axis=-1, epsilon=epsilon)
    else:
        y, bias = root_norm(b, x, b.const(scale), epsilon), np.zeros_like(bias)
    out = b.quantize(y, scales[1], zeros[1])
    model = b.model({"x": codes}, {out: kind})
    return model, {
        "x": codes,
        "out": out,
        "scales": scales,
        "zeros": zeros,
        "scale": scale,
        "bias": bias,
        "info": info,
        "centered": centered,
    }


def by_the_clause(facts: dict[str, Any], epsilon: float) -> np.ndarray:
    """Integers and binary32 numbers, one at a time."""
    (s_x, s_y), zero, info = facts["scales"], int(facts["zeros"][1]), facts["info"]
    n = facts["x"].shape[-1]
    unit = round(2**16 * Fraction(float(np.float32(epsilon))) * n**2 / Fraction(float(s_x)) ** 2)
    rows = []
    for row in facts["x"].reshape(-1, n).tolist():
        about = sum(row) if facts["centered"] else n * int(facts["zeros"][0])
        w = max(1, 2**16 * sum((n * q - about) ** 2 for q in row) // n + unit)
        k = next(k for k in range(-10, 25) if 2**46 <= w * Fraction(4) ** k < 2**48)
        factor = np.float32((2**47 // isqrt(int(w * Fraction(4) ** k))) * 2.0 ** (k - 39))
        for q, g, b in zip(row, facts["scale"], facts["bias"], strict=True):
            v = np.float32(np.float32(n * q - about) * factor) * np.float32(g / s_y) + np.float32(b / s_y)
            rows.append(int(np.clip(np.rint(v), info.min - zero, info.max - zero)) + zero)
    return np.array(rows, facts["x"].dtype).reshape(facts["x"].shape)


def exactly(facts: dict[str, Any], epsilon: float) -> list[float]:
    """What the codes would be before they are rounded and cut, in binary64."""
    (s_x, s_y), (z_x, z_y) = facts["scales"], facts["zeros"]
    x = (facts["x"].astype(np.float64) - int(z_x)) * float(s_x)
    centred = x - (x.mean(axis=-1, keepdims=True) if facts["centered"] else 0)
    y = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + float(np.float32(epsilon)))
    found: np.ndarray = (y * facts["scale"] + facts["bias"]) / float(s_y) + int(z_y)
    return list(found.reshape(-1).tolist())


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("near", [0.05, 0.0003, 40.0])
@pytest.mark.parametrize(("count", "epsilon"), [(2, 1e-5), (7, 0.0), (192, 1e-12), (300, 0.3)])
def test_normalization(count: int, epsilon: float, near: float, centered: bool) -> None:
    model, facts = network(np.random.default_rng(count), count, epsilon, near, centered)
    evaluator = Evaluator(model)
    assert evaluator.exact_outputs == {facts["out"]} and evaluator.steps[-1][0].raw
    found = evaluator.run({"x": facts["x"]})[facts["out"]]
    assert np.array_equal(found, by_the_clause(facts, epsilon))
    if epsilon:  # without it ONNX Runtime divides 0 by 0 where all codes of a row are equal
        (other,) = run_onnxruntime(model, {"x": facts["x"]})
        apart = np.abs(found.astype(int) - other.astype(int)).reshape(-1)
        assert apart.max() <= 1
        ties = np.abs(np.array(exactly(facts, epsilon)) % 1 - 0.5)
        assert (ties[apart > 0] < NEAR).all()
