"""What two engines make of one float product lies within what the evaluator takes for possible, and not far within."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from edgec.oracle import Evaluator
from tests.oracle.models import Builder

f32 = np.float32
TERMS = (3, 16, 64, 197, 1024)
# how numbers are drawn: terms that cancel, terms of one sign, terms of very different size
DRAWN: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "signed": lambda g, shape: g.standard_normal(shape),
    "positive": lambda g, shape: g.uniform(0, 1, shape),
    "uneven": lambda g, shape: g.standard_normal(shape) * 10.0 ** g.integers(-4, 4, shape),
}


def running(terms: np.ndarray) -> np.ndarray:
    """Sums of the last axis, one term after the other, each rounded to binary32."""
    return np.add.accumulate(terms.astype(f32), axis=-1, dtype=f32)[..., -1]


def fused(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same with one rounding for each product and sum, as by fused multiply-add."""
    total = np.zeros(np.broadcast_shapes(a.shape, b.shape)[:-1], f32)
    for index in range(a.shape[-1]):
        total = (total.astype(np.float64) + a[..., index].astype(np.float64) * b[..., index]).astype(f32)
    return total


@pytest.mark.parametrize("drawn", DRAWN)
@pytest.mark.parametrize("terms", TERMS)
def test_engines_stay_within_the_reach(terms: int, drawn: str) -> None:
    g = np.random.default_rng(terms)
    a, b = (DRAWN[drawn](g, shape).astype(f32) for shape in ((40, terms), (terms, 30)))
    model = Builder()
    y = model.op("MatMul", "a", "b")
    evaluator = Evaluator(model.model({"a": a, "b": b}, {y: f32}))
    up, down = (evaluator.run({"a": a, "b": b}, chance=lambda shape, way=way: np.full(shape, way))[y] for way in (True, False))
    left, right = a[:, None], b.T[None]
    engines = [running(left * right), running((left * right)[..., ::-1]), fused(left, right), a @ b]
    engines += [running(np.stack([running((left * right)[..., lane::8]) for lane in range(min(8, terms))], -1))]
    apart = np.max(engines, axis=0).astype(np.float64) - np.min(engines, axis=0)
    reach = (up.astype(np.float64) - down) / 2
    assert evaluator.exact_outputs == frozenset() and (apart <= reach).all()
    assert apart.max() > reach[apart == apart.max()].min() / 100


def test_a_convolution_and_what_follows_are_moved() -> None:
    g = np.random.default_rng(0)
    x, w = g.standard_normal((1, 3, 6, 6)).astype(f32), g.standard_normal((4, 3, 3, 3)).astype(f32)
    model = Builder()
    y = model.op("Relu", model.op("Conv", "x", "w", model.const(np.ones(4, f32)), pads=[1] * 4))
    evaluator = Evaluator(model.model({"x": x, "w": w}, {y: f32}))
    plain, up = evaluator.run({"x": x, "w": w})[y], evaluator.run({"x": x, "w": w}, chance=lambda shape: np.full(shape, True))[y]
    assert (up >= plain).all() and 0 < (up - plain).max() < 1e-4


def test_what_is_exact_does_not_move() -> None:
    model = Builder()
    x = model.dequantize(model.quantize("x", 0.1, np.uint8(9)), 0.1, np.uint8(9))
    y = model.op("Softmax", x, axis=-1)
    evaluator = Evaluator(model.model({"x": np.zeros((2, 5), f32)}, {y: f32}))
    given = {"x": np.random.default_rng(0).standard_normal((2, 5)).astype(f32)}
    assert np.array_equal(evaluator.run(given)[y], evaluator.run(given, chance=lambda shape: np.full(shape, True))[y])
