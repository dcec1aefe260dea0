"""Scores that minus infinity hides from a Softmax: what holds them stays in float, all else becomes integers."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.base.errors import UsageError
from edgec.frontend import from_proto
from edgec.integer import match
from edgec.integer.operators import DotProduct
from edgec.ir.graph import Graph
from edgec.passes import optimize
from edgec.quant import QuantizeOptions, apply_calibration, quantize
from edgec.quant.network import HIDDEN
from tests.nets import Net

TOKENS, FEATURES = 12, 8


def attention(way: str) -> Graph:
    """Attention whose mask follows from the tokens' last feature, or hides what comes later."""
    net = Net(way, 4, (1, TOKENS, FEATURES))
    queries, keys, values = (net.node("MatMul", ["x", net.normal(FEATURES, FEATURES, scale=0.3)]) for _ in range(3))
    scores = net.node("MatMul", [queries, net.node("Transpose", [keys], perm=[0, 2, 1])])
    last = net.node("Transpose", [net.node("Gather", ["x", net.constant(np.int64([FEATURES - 1]))], axis=2)], perm=[0, 2, 1])
    hidden = net.node("Less", [last, net.constant(np.float32(-0.5))])
    nothing, infinity = net.constant(np.float32(0)), net.constant(np.float32(-np.inf))
    if way == "chosen":
        scores = net.node("Where", [hidden, infinity, scores])
    elif way == "added":
        mask = net.node("Expand", [net.node("Where", [hidden, infinity, nothing]), net.constant(np.int64([1, TOKENS, TOKENS]))])
        scores = net.node("Add", [scores, mask])
    elif way == "logarithm":
        seen = net.node("Cast", [net.node("Not", [hidden])], to=1)
        scores = net.node("Add", [scores, net.node("Log", [seen])])
    else:
        later = np.triu(np.full((1, TOKENS, TOKENS), -np.inf, np.float32), 1)
        scores = net.node("Add", [scores, net.constant(later)])
    attended = net.node("MatMul", [net.node("Softmax", [scores], axis=-1), values])
    graph = from_proto(net.model(net.node("MatMul", [attended, net.normal(FEATURES, 4, scale=0.3)]))).graph
    optimize(graph)
    return graph


def samples(scale: float = 1.0) -> list[dict[str, np.ndarray]]:
    random = np.random.default_rng(5)
    return [{"x": (scale * random.standard_normal((1, TOKENS, FEATURES))).astype(np.float32)} for _ in range(8)]


@pytest.mark.parametrize("way", ["chosen", "added", "logarithm", "causal"])
def test_hidden_scores_stay_in_float(way: str) -> None:
    graph, data = attention(way), samples()
    found = quantize(graph, lambda: data, QuantizeOptions(effort="fast"))
    assert [type(operator) for operator in match(found.graph).operators].count(DotProduct) == 4, "all products with weights"
    assert min(found.report.outputs.values()) > 25
    assert HIDDEN in found.report.kept_in_float.values() and found.calibration["exclude"]
    again = apply_calibration(graph, found.calibration)
    assert [node.op for node in again.nodes] == [node.op for node in found.graph.nodes]


def test_other_infinities_are_refused() -> None:
    data = samples(1e30)
    with pytest.raises(UsageError, match="the calibration data cannot be used"):
        quantize(attention("chosen"), lambda: data, QuantizeOptions(effort="fast"))
