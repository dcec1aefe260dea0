"""Quantizing takes steps by the layer: twice as many take twice as long."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.passes import optimize
from edgec.quant import QuantizeOptions, quantize
from tests.contract.examiner import WHOLE
from tests.counting import calls
from tests.lower.test_chains import CHAINS, chain, two

LINKS = {
    "Conv": CHAINS["Conv"],
    "Conv and Relu": two(("Conv", "w"), ("Relu", "")),
    "residual": two(("Conv", "w"), ("Add", "x")),
    "table": two(("Conv", "w"), ("Tanh", "")),
    "a source for each": two(("Softmax", ""), ("Conv", "w")),
    "pool": lambda x, y, n: [*CHAINS["Conv"](x, f"c{n}", n), *CHAINS["MaxPool"](f"c{n}", y, n + 1000)],
}
SAMPLE = {"x": np.random.default_rng(0).normal(size=(1, 4, 2, 2)).astype(np.float32)}


def imported(name: str, count: int) -> Graph:
    graph = from_proto(chain(LINKS[name], count)).graph
    optimize(graph)
    return graph


@pytest.mark.sampled
@pytest.mark.parametrize("name", LINKS)
def test_work_grows_with_the_layers(name: str) -> None:
    options = QuantizeOptions("minmax")
    few, more, most = (imported(name, count) for count in ((12, 24, 48) if WHOLE else (8, 16, 32)))
    quantize(imported(name, 8), lambda: iter([SAMPLE]), options)  # what is loaded once
    a, b, c = (calls(lambda graph=graph: quantize(graph, lambda: iter([SAMPLE]), options)) for graph in (few, more, most))  # type: ignore[misc]
    assert (c - b) / (b - a) < 3.3  # 2, or more where more steps help; 4 where work grows with the square
