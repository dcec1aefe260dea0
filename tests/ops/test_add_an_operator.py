"""docs/add-an-operator.md: what its blocks add is an operator, in float and in 8 bits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.lower import lower
from edgec.ops import OPERATORS, unary
from edgec.oracle import Evaluator, islands, tables
from edgec.schedule import schedule
from edgec.targets import load_target
from tests.frontend.models import model, node
from tests.lower.interpreter import run
from tests.oracle.models import Builder

PAGE = (Path(__file__).parents[2] / "docs/add-an-operator.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NAME = "ThresholdedRelu"


@pytest.fixture
def added() -> Iterator[None]:
    """The blocks, each in the file that the page names for it."""
    tables_of = (OPERATORS, tables.PARAMETRIC, islands.PARAMETRIC)
    assert not any(NAME in table for table in tables_of)
    try:
        for block, module in zip(BLOCKS, (unary, tables, islands), strict=True):
            exec(block, dict(vars(module)))
        yield
    finally:
        for table in tables_of:
            table.pop(NAME, None)


def answers(graph: Graph, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    target = load_target("portable")
    return run(schedule(lower(graph, target, "net"), target), inputs)


def test_what_the_page_adds_is_one_node_and_computes(added: None) -> None:
    graph = from_proto(model([node(NAME, "x", "y", alpha=0.5)], {"x": [2, 4]}, ["y"])).graph
    assert [found.op for found in graph.nodes] == [NAME]
    x = np.array([[-1, 0.5, np.nextafter(np.float32(0.5), np.float32(1)), 3], [np.nan, np.inf, -np.inf, 0]], np.float32)
    np.testing.assert_array_equal(answers(graph, {"x": x})["y"], np.where(x > 0.5, x, 0))


@pytest.mark.parametrize("between", [0, 1], ids=["a table", "in float"])
def test_what_the_page_adds_has_the_bits_of_the_evaluator(added: None, between: int) -> None:
    """As a table of codes; and in float, where a sum of two computed values stands between codes and function."""
    b, x = Builder(opset=22), np.arange(256).astype(np.uint8).reshape(4, 64)
    value = b.dequantize("x", np.float32(0.031), np.uint8(100))
    value = b.op("Sin", value) if between else value
    out = b.quantize(b.op(NAME, value, alpha=0.4), np.float32(0.02), np.uint8(9))
    proto = b.model({"x": x}, {out: np.uint8})
    found = answers(from_proto(proto).graph, {"x": x})[out]
    np.testing.assert_array_equal(found, Evaluator(proto).run({"x": x})[out])
    assert len(np.unique(found)) > 10


def test_without_the_page_it_is_others() -> None:
    graph = from_proto(model([node(NAME, "x", "y", alpha=0.5)], {"x": [2, 4]}, ["y"])).graph
    assert {found.op for found in graph.nodes} == {"Less", "Where"}
