"""Multiplications and additions by channel that nobody's weights take in, as one convolution of one tap."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.base.errors import UsageError
from edgec.ir.graph import Graph
from edgec.ir.verify import verify
from edgec.quant import QuantizeOptions, apply_calibration, quantize
from edgec.quant.channels.joined import join, joinable, pair_of
from edgec.quant.decisions.calibration_file import read_calibration
from edgec.quant.decisions.without import without
from edgec.quant.runs.float_run import Probe
from edgec.quant.scope.coverage import select
from tests.quant.small import Small, content, samples, sqnr

CHANNELS = 8
STEP = "factors and terms as one layer"


def normalized(small: Small, x: str, rank: int = 4, uniform: bool = False) -> str:
    """x * scale + shift, where a few channels are far larger than the others."""
    shape = (CHANNELS, *[1] * (rank - 2))
    scale = np.full(shape, 2.0) if uniform else 2.0 ** small.rng.uniform(-4, 3, shape)
    shift = np.full(shape, 0.5) if uniform else small.rng.standard_normal(shape) * scale
    scaled = small.node("Mul", x, small.constant(scale.astype(np.float32)))
    return small.node("Add", scaled, small.constant(shift.astype(np.float32)))


def behind_functions(blocks: int = 2) -> Graph:
    """Convolution, Relu, normalization, pool, as Keras layers with activations of their own are followed by normalizations."""
    small = Small((1, 3, 16, 16), seed=5)
    x = "x"
    for _ in range(blocks):
        x = small.pool("MaxPool", normalized(small, small.node("Relu", small.conv(x, CHANNELS))))
    return small.done(small.conv(x, 4, 1))


def additions(graph: Graph) -> list[str]:
    return [node.outputs[0] for node in graph.nodes if node.op == "Add"]


def test_what_follows_a_function_is_joined_and_computes_the_same() -> None:
    graph = behind_functions()
    values = joinable(graph, select(graph))
    assert values == additions(graph) and len(values) == 2
    joined = graph.copy()
    join(joined, values)
    verify(joined)
    assert [node.op for node in joined.nodes] == ["Conv", "Relu", "Conv", "MaxPool"] * 2 + ["Conv"]
    sample = next(samples(graph, 1)())
    exact, found = (Probe(one, [*values, *graph.outputs], exact=True)(sample) for one in (graph, joined))
    for value in exact:
        np.testing.assert_allclose(found[value], exact[value], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("before", ["Relu", "Concat", "MaxPool", "Add", "Conv", "input", "InstanceNormalization"])
def test_streams_and_what_weights_or_normalizations_take_in_are_left(before: str) -> None:
    small = Small((1, CHANNELS, 8, 8))
    x = small.conv("x", CHANNELS)
    if before in ("Relu", "Add"):
        x = small.node(before, x) if before == "Relu" else small.node("Add", x, "x")
    elif before == "Concat":
        x = small.node("Concat", small.conv("x", 4), small.conv("x", 4), axis=1)
    elif before == "MaxPool":
        x = small.pool("MaxPool", x)
    elif before == "InstanceNormalization":
        ones = [small.constant(np.ones(CHANNELS, np.float32)) for _ in range(2)]
        x = small.node("InstanceNormalization", x, *ones, epsilon=1e-5)
    graph = small.done(small.conv(normalized(small, "x" if before == "input" else x), 4), x)
    assert len(joinable(graph, select(graph))) == (before in ("Relu", "Concat", "MaxPool"))


@pytest.mark.parametrize("wrong", ["one number", "a row", "read twice", "excluded"])
def test_what_else_is_left(wrong: str) -> None:
    """One number goes into a scale; an intermediate result is needed; a row alone takes kernels longer."""
    small = Small((1, CHANNELS, 8) if wrong == "a row" else (1, CHANNELS, 8, 8))
    x = small.node("Relu", small.node("Sigmoid", "x"))
    y = normalized(small, x, len(small.graph.shape(x)), uniform=wrong == "one number")
    graph = small.done(y, *([small.graph.nodes[-1].inputs[0]] if wrong == "read twice" else []))
    exclude = [node.name for node in graph.nodes if node.op == "Mul"] if wrong == "excluded" else []
    assert joinable(graph, select(graph, exclude)) == []
    assert wrong == "excluded" or pair_of(graph, y) is None


def test_they_are_joined_where_that_helps_and_the_calibration_says_so() -> None:
    graph = behind_functions()
    found = quantize(graph, samples(graph, 32))
    without_them = quantize(graph, samples(graph, 32), QuantizeOptions(equalize=False))
    assert found.calibration["joined"] == additions(graph) and "joined" not in without_them.calibration
    step = next(step for step in found.report.steps if step["step"] == STEP)
    assert step["taken"] == step["places"] == 2 and step["after"] > step["before"] + 1
    assert sqnr(graph, found.graph, 20) > sqnr(graph, without_them.graph, 20) + 1
    assert content(apply_calibration(graph, found.calibration)) == content(found.graph)


@pytest.mark.parametrize("name", ["x", "nobody", "relu_1"])
def test_what_cannot_be_joined_is_refused(name: str) -> None:
    graph = behind_functions()
    calibration = quantize(graph, samples(graph, 16)).calibration
    with pytest.raises(UsageError, match="the calibration is broken") as caught:
        apply_calibration(graph, calibration | {"joined": [*calibration["joined"], name]})
    assert "is nothing that one layer could compute" in str(caught.value)


def test_an_addition_that_stays_in_float_takes_its_multiplication_with_it() -> None:
    graph = behind_functions()
    calibration = read_calibration(quantize(graph, samples(graph, 16)).calibration, graph)
    first, second = (pair for value in calibration.joined if (pair := pair_of(graph, value)))
    found = without(graph, calibration, [first.addition.name])
    assert found.joined == (second.addition.outputs[0],)
    assert set(found.exclude) == {first.addition.name, first.multiplication.name}
    assert first.addition.outputs[0] not in found.weights and second.addition.outputs[0] in found.weights
