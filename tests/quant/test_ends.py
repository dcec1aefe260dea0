"""Products that no other layer takes: they end in float, unless raw outputs are asked for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from edgec.export import to_onnx
from edgec.ir.graph import Graph
from edgec.oracle import Evaluator
from edgec.quant import QuantizeOptions, apply_calibration, quantize
from edgec.quant.given.options import Sample
from edgec.quant.scope.coverage import select
from edgec.quant.trials.trial import judged
from tests.quant.small import Small, samples, sqnr

PLAIN = QuantizeOptions(equalize=False, observer="minmax", round_weights=False, correct_bias=False, shape_sums=False)


def head(function: str | None) -> Graph:
    """Two numbers, whose sum is the answer, perhaps behind a function."""
    small = Small((1, 2))
    weights = small.constant(np.array([[1, 1]], np.float32))
    last = small.node("Gemm", "x", weights, transB=1, transA=0, alpha=1.0, beta=1.0)
    attributes = {"axis": -1} if function == "Softmax" else {}
    return small.done(small.node(function, last, **attributes) if function else last)


def pairs(sign: float) -> Iterator[Sample]:
    """Nearly opposite numbers with `sign` -1, whose sum is small; nearly equal ones with 1."""
    rng = np.random.default_rng(3)
    for one in rng.uniform(1, 4, 16):
        yield {"x": np.array([[one, sign * one + rng.uniform(0, 0.2)]], np.float32)}


@pytest.mark.parametrize("function", [None, "Sigmoid", "Softplus"])
def test_answers_may_go_further_than_the_samples_went(function: str | None) -> None:
    graph = head(function)
    for coded, least, most in ((False, 35.0, 99.0), (True, -99.0, 15.0)):
        options = QuantizeOptions(
            observer="minmax", equalize=False, round_weights=False, correct_bias=False, shape_sums=False, codes_out=coded
        )
        quantized = quantize(graph, lambda: pairs(-1), options).graph
        assert least < sqnr(graph, quantized, others=lambda: pairs(1)) < most


def test_what_outputs_and_float_operators_read_alone_is_not_stored() -> None:
    small = Small((1, 3, 8, 8))
    inner = small.node("Relu", small.conv("x", 4))
    boxes, scores = small.conv(inner, 4), small.conv(inner, 2)
    rows = small.node("Reshape", boxes, small.constant(np.array([1, 4, 64])), allowzero=0)
    graph = small.done(rows, small.node("Softmax", scores, axis=1))
    assert select(graph).values == ("x", inner)
    assert {layer.node.outputs[0] for layer in select(graph).layers if layer.ends_in_float} == {boxes, scores}
    assert set(select(graph, codes_out=True).values) == {"x", inner, boxes, scores}
    quantized = quantize(graph, samples(graph), PLAIN)
    assert Evaluator(to_onnx(quantized.graph)).exact_outputs == frozenset(graph.outputs)


@pytest.mark.parametrize("function", ["Softmax", "Sigmoid", "Tanh"])
def test_what_saturates_is_judged_before_it_does(function: str) -> None:
    graph = head(function)
    assert judged(graph) == (graph.outputs if function == "Tanh" else graph.nodes[-1].inputs)


def test_what_is_moved_or_chosen_behind_a_sigmoid_is_judged_before_it() -> None:
    small = Small((1, 3, 8, 8))
    one, other = small.conv("x", 2), small.conv("x", 2)
    moved = small.node("Reshape", small.node("Sigmoid", one), small.constant(np.array([1, 2, 64])), allowzero=0)
    least = small.node("Greater", moved, small.constant(np.asarray(0.5, np.float32)))
    second = small.node("Reshape", small.node("Sigmoid", other), small.constant(np.array([1, 2, 64])), allowzero=0)
    graph = small.done(small.node("Where", least, second, moved))
    assert judged(graph) == [other, one]
    linear = small.node("Reshape", one, small.constant(np.array([1, 2, 64])), allowzero=0)
    graph.outputs = [moved, small.node("Where", least, second, linear)]
    assert judged(graph) == [one, graph.outputs[1]]


def test_what_another_layer_takes_too_is_stored() -> None:
    small = Small((1, 3, 8, 8))
    middle = small.conv("x", 4)
    graph = small.done(middle, small.conv(middle, 2))
    assert select(graph).values == ("x", middle)


@pytest.mark.parametrize("coded", [False, True])
def test_the_calibration_says_how_products_end(coded: bool) -> None:
    graph = head("Sigmoid")
    result = quantize(graph, lambda: pairs(-1), QuantizeOptions(codes_out=coded))
    assert result.calibration["codes_out"] is coded
    assert to_onnx(apply_calibration(graph, result.calibration)) == to_onnx(result.graph)


def test_an_old_calibration_stores_all_results() -> None:
    graph = head("Sigmoid")
    result = quantize(graph, lambda: pairs(-1), QuantizeOptions(codes_out=True))
    old = {key: value for key, value in result.calibration.items() if key != "codes_out"}
    assert to_onnx(apply_calibration(graph, old)) == to_onnx(result.graph)
