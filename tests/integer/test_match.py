"""One text file for each clause: the graph, `--- match`, and what `match` finds in it; the evaluator must find the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgec.export import to_onnx
from edgec.integer import match
from edgec.integer.grid import Grid
from edgec.integer.operators import (
    DotProduct,
    IntegerOperator,
    Join,
    LayerNorm,
    Mean,
    Move,
    Multiplication,
    PairProduct,
    Quantize,
    Requantize,
    Softmax,
    Sum,
    Table,
    WideDotProduct,
)
from edgec.integer.text import dumps
from edgec.ir.graph import Graph
from edgec.ir.text import dumps as graph_text
from edgec.ir.text import loads
from edgec.ir.verify import verify
from edgec.oracle import Evaluator
from tests.contract.subjects import FAMILIES, random_net

FILES = sorted((Path(__file__).parent / "cases").glob("*.eir"))
SEPARATOR = "--- match\n"


def hearts(graph: Graph) -> set[str]:
    """The results of the nodes that integer operators are made around, QuantizeLinear apart."""
    return {found.node.outputs[0] for found in match(graph).operators if not isinstance(found, Quantize | Requantize)}


def hearts_of_evaluator(graph: Graph) -> set[str]:
    """The same by the program that shares no code with `match`."""
    steps = [step for step, _ in Evaluator(to_onnx(graph)).steps]
    return {step.node.outputs[0] for step in steps if step.raw and step.node.op not in ("QuantizeLinear", "DequantizeLinear")}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_match(file: Path, bless: bool) -> None:
    text, _, expected = file.read_text().partition(SEPARATOR)
    graph = loads(text)
    verify(graph)
    assert graph_text(graph) == text
    found = dumps(graph, match(graph))
    if bless:
        file.write_text(text + SEPARATOR + found)
    else:
        assert found == expected
    assert hearts(graph) == hearts_of_evaluator(graph)


def test_every_clause_has_a_case() -> None:
    found = {type(operator) for file in FILES for operator in match(loads(file.read_text().partition(SEPARATOR)[0])).operators}
    assert found == {*IntegerOperator.__subclasses__(), *DotProduct.__subclasses__()}
    assert found == {
        DotProduct, Join, LayerNorm, Mean, Move, Multiplication, PairProduct, Quantize, Requantize, Softmax, Sum, Table, WideDotProduct,
    }  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_the_evaluator_finds_the_same_in_whole_networks(family: str) -> None:
    graph = random_net(family).graph
    assert hearts(graph) == hearts_of_evaluator(graph)


def test_inputs_that_arrive_as_codes() -> None:
    graph = loads((FILES[0].parent / "clause4.convolution.eir").read_text().partition(SEPARATOR)[0])
    assert [type(operator) for operator in match(graph).operators] == [Quantize, DotProduct]
    found = match(graph, {"x": Grid(np.float32(0.02), 100)})
    assert [type(operator) for operator in found.operators] == [Requantize, DotProduct]
