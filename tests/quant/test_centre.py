"""The steps gone through again: linear streams stored less the middles of their channels, and channels more even than usual."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.base.errors import UsageError
from edgec.ir.graph import Graph
from edgec.ir.verify import verify
from edgec.quant import QuantizeOptions, apply_calibration, quantize
from edgec.quant.channels.centre import apply_centres, centred_convolutions, choose_centres, linear_values, middles_of
from edgec.quant.channels.equalize import Evenness, choose_factors
from edgec.quant.decisions.calibration import packed
from edgec.quant.runs.float_run import Probe
from tests.quant.small import Small, content, net, samples, sqnr


def middle(array: np.ndarray) -> np.ndarray:
    return np.asarray((array.max(axis=(0, 2, 3)) + array.min(axis=(0, 2, 3))) / 2, np.float64)


def apart(small: Small, value: str, size: float) -> str:
    """The convolution that writes `value` has biases of either sign."""
    node = small.graph.producer(value)
    assert node is not None
    bias = small.graph.constants[node.inputs[2]]
    bias[:] += np.where(np.arange(len(bias)) % 2, -size, size)
    return value


def bottlenecks(size: float = 6.0) -> Graph:
    """Two sums of what convolutions write, with channels far from each other."""
    small = Small((1, 4, 8, 8), seed=3)
    stream = apart(small, small.conv("x", 8, 1), size)
    for _ in range(2):
        inner = small.node("Relu", small.conv(stream, 16, 1))
        inner = small.node("Relu", small.conv(inner, 16, group=16))
        stream = small.node("Add", stream, small.conv(inner, 8, 1))
    return small.done(small.conv(small.node("Relu", small.conv(stream, 8, 1)), 4, 1))


@pytest.mark.parametrize("graph", [bottlenecks(), net("mobilenet")])
def test_centring_leaves_the_function_and_stores_values_less_their_middles(graph: Graph) -> None:
    values = linear_values(graph)
    assert values and set(centred_convolutions(graph)) < set(values)
    sample = next(samples(graph, 1)())
    exact = Probe(graph, [*values, *graph.outputs], exact=True)(sample)
    centres = choose_centres(graph, {value: middle(exact[value]) for value in values})
    centred = graph.copy()
    apply_centres(centred, centres)
    verify(centred)
    found, middles = Probe(centred, [*values, *graph.outputs], exact=True)(sample), middles_of(graph, centres)
    for value in values:
        np.testing.assert_allclose(found[value], exact[value] - middles[value][:, None, None], atol=1e-4)
    for output in graph.outputs:
        np.testing.assert_allclose(found[output], exact[output], rtol=1e-4, atol=1e-4)


def test_of_sums_all_middles_are_met_where_that_can_be() -> None:
    graph = bottlenecks()
    rng = np.random.default_rng(0)
    own = {value: rng.standard_normal(8).astype(np.float32) for value in centred_convolutions(graph)}
    found = choose_centres(graph, middles_of(graph, own))
    for value, centre in own.items():
        np.testing.assert_allclose(found[value], centre, atol=1e-5)


@pytest.mark.parametrize("reader", ["Relu", "padded", "output", "nothing linear"])
def test_what_else_reads_a_value_keeps_it_from_being_centred(reader: str) -> None:
    small = Small((1, 4, 8, 8))
    value = small.conv("x", 4, 1)
    read = small.conv(value, 4, 1)
    if reader == "Relu":
        graph = small.done(read, small.conv(small.node("Relu", value), 4, 1))
    elif reader == "padded":
        graph = small.done(read, small.conv(value, 4, 3))
    elif reader == "output":
        graph = small.done(read, value)
    else:
        graph = small.done(read, small.conv(small.node("Add", value, "x"), 4, 1))
    assert linear_values(graph) == []


def test_streams_whose_channels_lie_apart_are_centred_but_for_haste_and_for_few_samples_and_the_calibration_says_so() -> None:
    graph = bottlenecks()
    fast, few, many, high = (
        quantize(graph, samples(graph, count), QuantizeOptions(effort=effort))
        for effort, count in (("fast", 64), ("normal", 16), ("normal", 64), ("high", 16))
    )
    assert "centres" not in fast.calibration and "centres" not in few.calibration
    for found in (many, high):
        assert set(found.calibration["centres"]) == set(centred_convolutions(graph))
        assert sqnr(graph, found.graph, 40) > sqnr(graph, fast.graph, 40) + 3
        assert content(apply_calibration(graph, found.calibration)) == content(found.graph)


@pytest.mark.parametrize("broken", ["another", "missing", "infinite", "short"])
def test_centres_that_would_change_the_function_are_refused(broken: str) -> None:
    graph = bottlenecks()
    calibration = quantize(graph, samples(graph, 16), QuantizeOptions(effort="high")).calibration
    centres = dict(calibration["centres"])
    name = next(iter(centres))
    if broken == "another":
        centres["x"] = centres[name]
    elif broken == "missing":
        del centres[name]
    else:
        centres[name] = packed(np.full(8, np.inf, np.float32) if broken == "infinite" else np.zeros(7, np.float32))
    with pytest.raises(UsageError, match="the calibration is broken"):
        apply_calibration(graph, calibration | {"centres": centres})


def thirds() -> tuple[Graph, str, str]:
    """A value that a depthwise convolution reads, and one that another one reads."""
    small = Small((1, 4, 8, 8))
    first = small.conv("x", 4, 1)
    second = small.conv(first, 4, group=4)
    return small.done(small.conv(second, 4, 1)), first, second


def test_channels_that_depthwise_convolutions_read_are_as_even_as_nothing_else_is() -> None:
    graph, first, second = thirds()
    widths = {value: np.array([1.0, 0.5, 0.25, 0.125]) for value in (first, second)}
    found = choose_factors(graph, widths, Evenness(0.5, 1.0)).factors
    np.testing.assert_allclose(found[first], widths[first])
    np.testing.assert_allclose(found[second], widths[second] ** 0.5)


def test_nothing_is_tried_where_no_equalization_is_wanted() -> None:
    graph = bottlenecks()
    found = quantize(graph, samples(graph, 16), QuantizeOptions(effort="high", equalize=False))
    assert "centres" not in found.calibration
    assert not {"centred streams", "evenness of channels"} & {step["step"] for step in found.report.steps}
