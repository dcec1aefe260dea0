"""`model.int8.onnx` is a model for others too: the checker accepts it, and ONNX Runtime loads it with default options and runs it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import defs

from edgec.base.errors import EdgecError
from edgec.export import to_onnx
from edgec.export.onnx_file import LOADED_OPSET
from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.ir.types import DType
from edgec.ops import OPERATORS
from edgec.ops.proto import DROPPED, schema
from edgec.passes import optimize
from tests.contract.imported import HAND_MADE, RECIPES, Recipe, hand_made, quantized_by_onnxruntime
from tests.contract.signed import signed
from tests.contract.subjects import FAMILIES, float_net, random_float_net, random_net, samples_of
from tests.fuzz.graphs_draw import DRAWERS, draw
from tests.oracle.models import Builder

DRAWN = 8  # parts that the operators are drawn in
EXPANDED = {"Swish", "RMSNormalization"}  # written as several nodes
LATER = {"BitCast"}  # of operator sets behind that


def load(graph: Graph) -> onnxruntime.InferenceSession:
    """Checked and loaded as anybody would."""
    model = to_onnx(graph)
    onnx.checker.check_model(model, full_check=True)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def takes_signed(graph: Graph) -> bool:
    """Whether all operators that take bytes take signed ones too: BitShift is of unsigned integers only, and a Cast says what it makes."""
    if any(node.op == "Cast" and node.attributes["to"] == "uint8" for node in graph.nodes):
        return False
    takers = {node.op for node in graph.nodes for name in node.inputs if name and graph.types[name].dtype is DType.UINT8}
    allowed = (constraint.allowed_type_strs for op in takers for constraint in defs.get_schema(op, LOADED_OPSET).type_constraints)
    return all("tensor(int8)" in types for types in allowed if "tensor(uint8)" in types)


@pytest.mark.parametrize("family", FAMILIES)
def test_nets_load(family: str) -> None:
    """Float, unsigned and signed, where the numbers of the last two are the same."""
    load(random_float_net(family).graph)
    net = random_net(family)
    one, other = load(net.graph), load(signed(net.graph))
    sample = samples_of(net.original)[0]
    for first, second in zip(one.run(None, sample), other.run(None, sample), strict=True):
        assert np.abs(first - second).max() < 0.1 * np.abs(first).max()


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_models_that_come_quantized_load(recipe: Recipe, tmp_path: Path) -> None:
    net = float_net(quantized_by_onnxruntime(recipe, tmp_path), recipe.name)
    load(net.original)
    load(net.graph)


@pytest.mark.parametrize("name", HAND_MADE)
def test_hand_made_models_load(name: str) -> None:
    net, _ = hand_made(name)
    load(net.graph)
    load(signed(net.graph))


def test_the_operator_set_has_all_operators() -> None:
    """In the form that a Graph has them, which is that of their newest schema."""
    found = {op: defs.get_schema(op, LOADED_OPSET) for op in OPERATORS if op not in EXPANDED | LATER}
    assert [op for op, known in found.items() if known.deprecated] == []
    younger = {name for op, known in found.items() for name in schema(op).attributes.keys() ^ known.attributes.keys()}
    assert younger == {"block_size", "output_dtype"} <= DROPPED.keys()


def test_codes_of_16_bits_load() -> None:
    """Their operator set is the newer one."""
    b = Builder()
    (x,) = (b.dequantize(b.quantize("x", 0.01, np.int16(5)), 0.01, np.int16(5)),)
    model = b.model({"x": np.zeros((1, 4), np.float32)}, {b.op("Relu", x): np.float32})
    graph = from_proto(model).graph
    assert to_onnx(graph).opset_import[0].version > LOADED_OPSET
    load(graph)


@pytest.mark.parametrize("number", [0, *(pytest.param(part, marks=pytest.mark.thorough) for part in range(1, DRAWN))])
def test_operators_load(number: int) -> None:
    """Of random models, in which each operator has its turn, and signed where they have codes. What ONNX Runtime does not take by itself
    is not asked of it."""
    for op in list(DRAWERS)[number::DRAWN]:
        drawn = draw(np.random.default_rng([7, number]), op, most=4)
        try:
            original = from_proto(drawn.model).graph
        except EdgecError:
            continue
        graph = original.copy()
        optimize(graph)
        for part in (original, graph, *([signed(graph)] if takes_signed(graph) else [])):
            load(part)
