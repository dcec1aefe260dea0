"""Quantizing takes steps by the layer: four times as many take four times as long."""

from __future__ import annotations

import numpy as np
import pytest

from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.passes import optimize
from edgec.quant import QuantizeOptions, quantize
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


USUAL = ("Conv", "residual")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.thorough] * (name not in USUAL)) for name in LINKS])
def test_work_grows_with_the_layers(name: str) -> None:
    options = QuantizeOptions("minmax")
    few, most = (imported(name, count) for count in (24, 96))
    quantize(imported(name, 8), lambda: iter([SAMPLE]), options)  # what is loaded once
    few_calls, most_calls = (calls(lambda graph=graph: quantize(graph, lambda: iter([SAMPLE]), options)) for graph in (few, most))  # type: ignore[misc]
    assert most_calls / few_calls < 7  # 4; more where more steps help, 16 where work grows with the square
