"""Quantizing takes steps by the layer: four times as many take four times as long."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import pytest

from edgec.frontend import from_proto
from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType, TensorType
from edgec.lower.whole_product import largest
from edgec.passes import optimize
from edgec.quant import QuantizeOptions, quantize
from edgec.quant.channels.features import find_features
from edgec.quant.trials.trial import judged
from tests.counting import calls
from tests.lower.test_chains import CHAINS, chain, two
from tests.quant.small import Small

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


LONG = 4 * sys.getrecursionlimit()


def long(links: Sequence[tuple[str, str]]) -> Graph:
    """A convolution, then these operators again and again, LONG in all, where `@` reads what is before. Not optimized."""
    small = Small((1, 4, 2, 2))
    first = small.node("Softmax", small.conv("x", 4, 1), axis=1)
    condition = small.node("Greater", "x", first)
    kind, value = small.graph.types[first], first
    for number in range(LONG):
        op, reads = links[number % len(links)]
        inputs = [{"@": value, "@@": small.graph.nodes[-1].inputs[-1], "c": condition}[word] for word in reads.split()]
        attributes = {"perm": [0, 1, 3, 2]} if op == "Transpose" else {"alpha": 0.5} if op == "LeakyRelu" else {}
        small.graph.nodes.append(Node(op, inputs, [f"v{number}"], attributes, f"n{number}"))
        small.graph.types[f"v{number}"], value = kind, f"v{number}"
    small.graph.touched()
    return small.done(value)


def test_what_is_chosen_again_and_again_is_judged_at_its_beginning() -> None:
    """Each of these reads the one before twice."""
    graph = long([("Transpose", "@"), ("Where", "c @ @@")])
    assert judged(graph) == [graph.nodes[1].inputs[0]]


def test_features_are_found_behind_any_number_of_operators() -> None:
    graph = long([("LeakyRelu", "@")])
    graph.nodes.append(Node("MatMul", [graph.outputs[0], graph.add_constant("w", np.ones((2, 3), np.float32))], ["y"], {}, "last"))
    graph.types["y"] = TensorType(DType.FLOAT32, (1, 4, 2, 3))
    graph.outputs = ["y"]
    graph.touched()
    (found,) = find_features(graph).values()
    assert len(found.values) == LONG + 1 and [node.name for node in found.matrices] == ["last"]


def test_whole_numbers_are_known_behind_any_number_of_moves() -> None:
    small = Small((1, 4, 2, 2))
    value = small.graph.add_constant("k", np.array([[-7, 3]], np.int32))
    for number in range(LONG):
        small.graph.nodes.append(Node("Transpose", [value], [f"v{number}"], {"perm": [1, 0]}, f"n{number}"))
        value = f"v{number}"
    small.graph.touched()
    assert largest(small.graph, value) == 7
