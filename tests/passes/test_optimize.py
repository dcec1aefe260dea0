"""optimize() keeps the meaning of random graphs."""

import logging

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgec.ir.graph import Graph
from edgec.ir.verify import verify
from edgec.passes import optimize

from .compare import random_array, run
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
