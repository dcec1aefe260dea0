"""optimize() keeps the meaning of random graphs."""

import logging

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgec.ir.graph import Graph
from edgec.ir.text import loads
from edgec.ir.verify import verify
from edgec.passes import optimize

from .compare import assert_same_results, random_array, run
from .random_graphs import STEPS, random_graph


def magnitude(graph: Graph, inputs: dict[str, np.ndarray]) -> float:
    """The largest finite number that appears anywhere while the graph runs: rounding errors are relative to that."""
    everything = graph.copy()
    everything.outputs = [name for node in graph.nodes for name in node.outputs]
    return max(float(np.abs(array[np.isfinite(array)]).max(initial=1)) for array in run(everything, inputs))


STEP_LISTS = st.lists(st.tuples(st.integers(0, len(STEPS) - 1), st.integers(0, 2**20)), min_size=1, max_size=14)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEP_LISTS, seed=st.integers(0, 2**20))
def test_optimized_random_graphs_give_the_same_results(caplog: pytest.LogCaptureFixture, steps: list[tuple[int, int]], seed: int) -> None:
    graph = random_graph(steps)
    verify(graph)
    optimized = graph.copy()
    with caplog.at_level(logging.WARNING, "edgec.passes"):
        optimize(optimized)
    assert not caplog.records, "the rewrites did not settle"
    assert optimized.outputs == graph.outputs
    inputs = {"x": random_array(graph.types["x"], np.random.default_rng(seed))}
    limit = 2e-5 * magnitude(graph, inputs)
    for name, expected, found in zip(graph.outputs, run(graph, inputs), run(optimized, inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=limit, err_msg=name)


def test_a_symbolic_batch_survives_and_the_net_is_fused() -> None:
    text = """
graph net
input %x: float32[N<=4,2,3,3]
const %w: float32[3,2,1,1] = [1.0, 2.0, -1.0, 0.5, 0.25, 3.0]
const %one: float32[3] = [1.0, 2.0, 3.0]
const %v: float32[12,2] = normal(seed=1)
const %b: float32[2] = [0.5, -0.5]
%c: float32[N<=4,3,3,3] = Conv(%x, %w) {dilations=[1, 1], group=1, kernel_shape=[1, 1], pads=[0, 0, 0, 0], strides=[1, 1]} "conv"
%n: float32[N<=4,3,3,3] = BatchNormalization(%c, %one, %one, %one, %one) {epsilon=1e-05} "norm"
%r: float32[N<=4,3,3,3] = Relu(%n) "relu"
%p: float32[N<=4,3,2,2] = MaxPool(%r) {ceil_mode=0, dilations=[1, 1], kernel_shape=[2, 2], pads=[0, 0, 0, 0], strides=[1, 1]} "pool"
%f: float32[N<=4,12] = Flatten(%p) {axis=1} "flatten"
%m: float32[N<=4,2] = Gemm(%f, %v, %b) {alpha=2.0, beta=1.0, transA=0, transB=0} "gemm"
output %m
"""
    graph = loads(text)
    optimized = graph.copy()
    optimize(optimized)
    assert [node.op for node in optimized.nodes] == ["Conv", "Relu", "MaxPool", "Reshape", "Gemm"]
    assert [node.name for node in optimized.nodes] == ["conv", "relu", "pool", "flatten", "gemm"]
    assert_same_results(graph, optimized)
