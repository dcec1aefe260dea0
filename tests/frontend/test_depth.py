"""Convolutions over three axes in integers: codes of weights are moved ahead of their scales, and nothing of it is left in float."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.oracle import Evaluator
from edgec.passes import optimize
from edgec.quant import quantize

from .models import model, node, run, weights

RNG = np.random.default_rng(0)
Q = np.asarray(RNG.integers(0, 255, (1, 4, 5, 6, 4)), np.uint8)


@pytest.mark.parametrize("group", [1, 2])
def test_a_quantized_convolution(group: int) -> None:
    constants = {
        "s": np.array(0.02, np.float32), "z": np.array(120, np.uint8),
        "w": np.asarray(RNG.integers(-127, 128, (6, 4 // group, 3, 2, 2)), np.int8),
        "t": RNG.uniform(0.01, 0.02, 6).astype(np.float32), "u": np.zeros(6, np.int8), "v": np.array(0.3, np.float32),
        "b": np.asarray(RNG.integers(-999, 999, 6), np.int32),
    }  # fmt: skip
    call = node("QLinearConv", "x s z w t u v z b", "y", group=group, strides=[2, 1, 1], pads=[1, 0, 1, 1, 1, 0])
    proto = model([call], {"x": (2, [1, 4, 5, 6, 4])}, ["y"], constants)
    graph = from_proto(proto).graph
    optimize(graph)
    expected = run(proto, {"x": Q})[0].astype(int)
    evaluator = Evaluator(to_onnx(graph))
    assert evaluator.exact_outputs == {"y"}
    assert np.abs(evaluator.run({"x": Q})["y"].astype(int) - expected).max() <= 1  # ONNX Runtime's rounding


def test_a_transposed_one_of_codes_with_scales() -> None:
    """The weights' scales lie along their second axis."""
    constants = {
        "w": np.asarray(RNG.integers(-127, 128, (4, 3, 3, 2, 2)), np.int8), "t": RNG.uniform(0.01, 0.02, 3).astype(np.float32),
        "u": np.zeros(3, np.int8), "b": weights(3),
    }  # fmt: skip
    nodes = [
        node("DequantizeLinear", "w t u", "f", axis=1),
        node("ConvTranspose", "x f b", "y", strides=[2, 1, 2], pads=[1, 0, 0, 0, 0, 0]),
    ]
    proto = model(nodes, {"x": [1, 4, 3, 4, 5]}, ["y"], constants)
    graph = from_proto(proto).graph
    (call,) = (item for item in graph.nodes if item.op == "ConvTranspose")
    assert graph.producer(call.inputs[1], "DequantizeLinear") is not None
    x = RNG.standard_normal((1, 4, 3, 4, 5)).astype(np.float32)
    assert np.allclose(run(to_onnx(graph), {"x": x})[0], run(proto, {"x": x})[0], 1e-4, 1e-4)


def test_a_network_of_volumes_computes_in_integers() -> None:
    nodes = [
        node("Conv", "x w b", "c", pads=[1] * 6), node("Relu", "c", "r"),
        node("MaxPool", "r", "p", kernel_shape=[2, 2, 2], strides=[2, 2, 2]),
        node("ConvTranspose", "p v", "t", strides=[2, 2, 2]), node("Relu", "t", "y"),
    ]  # fmt: skip
    proto = model(nodes, {"x": [1, 2, 4, 6, 6]}, ["y"], {"w": weights(4, 2, 3, 3, 3), "b": weights(4), "v": weights(4, 3, 2, 2, 2)})
    graph = from_proto(proto).graph
    optimize(graph)
    samples = [{"x": RNG.standard_normal((1, 2, 4, 6, 6)).astype(np.float32)} for _ in range(3)]
    quantized = quantize(graph, lambda: samples).graph
    evaluator = Evaluator(to_onnx(quantized))
    (expected,), found = run(proto, samples[0]), evaluator.run(samples[0])["y"]
    assert evaluator.exact_outputs == {"y"}
    assert 10 * np.log10((expected**2).mean() / ((expected - found) ** 2).mean()) > 30
