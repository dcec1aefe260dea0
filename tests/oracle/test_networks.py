"""Small QDQ networks: ONNX Runtime, in float and operator by operator, stays within one step of the evaluator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from edgec.oracle import Evaluator
from tests.oracle.models import Builder, run_onnxruntime

f32 = np.float32


class Network(Builder):
    """Adds layers with random weights. No two scales are in a simple ratio, which would make ties frequent."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.generator = np.random.default_rng(seed)

    def again(self, x: str, scale: float, zero: int = 128) -> str:
        """Q and DQ around a value."""
        return self.dequantize(self.quantize(x, scale, np.uint8(zero)), scale, np.uint8(zero))

    def convolution(
        self, x: str, x_scale: float, inner: int, outer: int, kernel: int, scale: float, activation: str = "", **attributes: Any
    ) -> str:
        w = self.generator.integers(-127, 128, (outer, inner // attributes.get("group", 1), kernel, kernel)).astype(np.int8)
        w_scale = self.generator.uniform(0.001, 0.004, outer).astype(np.float32)
        weights = self.dequantize(self.const(w), w_scale, np.zeros(outer, np.int8), axis=0)
        steps = f32(x_scale) * w_scale
        bias = self.dequantize(self.const(self.generator.integers(-500, 500, outer), np.int32), steps, np.zeros(outer, np.int32), axis=0)
        y = self.op("Conv", x, weights, bias, **attributes)
        y = self.op(activation, y) if activation else y
        return self.again(y, scale, 0 if activation else 128)


def residual(n: Network) -> str:
    x = n.again("x", 0.03071)
    y = n.convolution(x, 0.03071, 3, 16, 3, 0.02113, "Relu", pads=[1, 1, 1, 1], strides=[2, 2])
    z = n.convolution(y, 0.02113, 16, 16, 3, 0.02113, "Relu", pads=[1, 1, 1, 1], group=16)
    z = n.convolution(z, 0.02113, 16, 16, 1, 0.03071)
    s = n.again(n.op("Add", y, z), 0.04219, 90)
    t = n.again(n.op("GlobalAveragePool", s), 0.02113, 90)
    return n.again(n.op("Flatten", t), 0.02113, 90)


def branches(n: Network) -> str:
    x = n.again("x", 0.03071)
    y = n.convolution(x, 0.03071, 3, 8, 3, 0.03071, pads=[2, 2, 2, 2], dilations=[2, 2])
    gate = n.again(n.op("Sigmoid", y), 1 / 256, 0)
    y = n.again(n.op("Mul", y, gate), 0.02113, 20)
    z = n.again(n.op("MaxPool", y, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1]), 0.02113, 20)
    u = n.again(n.op("AveragePool", y, kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1]), 0.01537, 30)
    c = n.again(n.op("Concat", y, z, u, axis=1), 0.02113, 25)
    up = n.again(n.op("Resize", c, "", n.const([1, 1, 2, 2], np.float32), mode="nearest"), 0.02113, 25)
    return n.convolution(up, 0.02113, 24, 5, 3, 0.05303, strides=[2, 2])


@pytest.mark.parametrize("build", [residual, branches])
@pytest.mark.parametrize("seed", range(3))
def test_within_one_step(build: Callable[[Network], str], seed: int) -> None:
    n = Network(seed)
    out = build(n)
    x = n.generator.standard_normal((2, 3, 17, 14)).astype(np.float32)
    model = n.model({"x": x}, {out: np.float32})
    evaluator = Evaluator(model)
    assert evaluator.exact_outputs == {out}
    assert not [step.node.op for step, _ in evaluator.steps if not step.raw and step.node.op != "QuantizeLinear"]
    got, theirs = evaluator.run({"x": x})[out], run_onnxruntime(model, {"x": x})[0]
    steps = np.abs(got - theirs) / evaluator.grids[out].scale
    assert steps.max() < 1.01
    assert (steps < 0.01).mean() > 0.97
    assert np.unique(got).size > 10
