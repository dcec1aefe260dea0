"""Recurrent cells: one product for all steps and a cell for each direction, what constants leave out, errors, and the way back to ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from edgec.base.errors import ModelError
from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.oracle import Evaluator
from edgec.passes import optimize

from .models import ops, run

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}


def model(op: str, directions: int = 1, given: dict[int, Any] | None = None, **named: Any) -> onnx.ModelProto:
    """A node of 3 steps, 2 rows, 4 inputs and 5 hidden numbers; `given` adds constant operands."""
    g, width = np.random.default_rng(3), GATES[op] * 5
    shapes = {1: (directions, width, 4), 2: (directions, width, 5)}
    arrays = {place: np.asarray(g.standard_normal(shape), np.float32) for place, shape in shapes.items()} | (given or {})
    names = ["x", *(f"c{place}" if place in arrays else "" for place in range(1, max(arrays) + 1))]
    outputs = ["y", "h", "c"][: 3 if op == "LSTM" else 2]
    named = {"direction": "bidirectional" if directions > 1 else "forward", "hidden_size": 5, **named}
    node = helper.make_node(op, names, outputs, "cell", **named)
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3, 2, 4])
    constants = [numpy_helper.from_array(array, f"c{place}") for place, array in arrays.items()]
    graph = helper.make_graph([node], "cell", [x], [onnx.ValueInfoProto(name=name) for name in outputs], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def cells(graph: Graph) -> list[list[bool]]:
    """Of each cell, which operands it has."""
    return [[bool(name) for name in node.inputs] for node in graph.nodes if node.op in GATES]


@pytest.mark.parametrize("op", GATES)
def test_inputs_are_one_product_and_each_direction_is_a_cell(op: str) -> None:
    bias = np.ones((2, GATES[op] * 10), np.float32)
    graph = from_proto(model(op, 2, {3: bias})).graph
    optimize(graph)
    assert [name for name in ops(graph) if name not in ("Reshape", "Concat")] == ["Gemm", op, "Gemm", op]
    assert [node.attributes["direction"] for node in graph.nodes if node.op == op] == ["forward", "reverse"]


def test_names_that_export_makes_are_nobody_s() -> None:
    """An input with the name of a constant that goes with the identity."""
    named = model("LSTM")
    for place in (named.graph.input[0], named.graph.output[0]):
        place.name = {"x": "identity/axes", "y": "identity_0/axes"}[place.name]
    named.graph.node[0].input[0], named.graph.node[0].output[0] = "identity/axes", "identity_0/axes"
    exported, x = to_onnx(from_proto(named).graph), np.ones((3, 2, 4), np.float32)
    answers = [run(item, {"identity/axes": x})[0] for item in (named, exported)]
    np.testing.assert_allclose(*answers, rtol=1e-5)


def test_what_says_nothing_is_left_out() -> None:
    """Biases and states of 0, and lengths that are all steps."""
    zeros = {3: np.zeros((1, 40), np.float32), 4: np.full(2, 3, np.int32), 5: np.zeros((1, 2, 5), np.float32)}
    graph = from_proto(model("LSTM", 1, zeros)).graph
    assert cells(graph) == [[True, False, True]] and "Add" not in ops(graph)
    shorter = from_proto(model("LSTM", 1, {4: np.array([3, 2], np.int32)})).graph
    assert cells(shorter) == [[True, False, True, False, True]]


def test_only_the_bias_that_the_reset_multiplies_stays_in_the_cell() -> None:
    bias = np.arange(30, dtype=np.float32).reshape(1, 30)
    assert cells(from_proto(model("GRU", 1, {3: bias})).graph) == [[True, False, True]]
    graph = from_proto(model("GRU", 1, {3: bias}, linear_before_reset=1)).graph
    (cell,) = (node for node in graph.nodes if node.op == "GRU")
    kept = graph.constants[cell.inputs[3]]
    assert np.array_equal(kept[0, 25:], bias[0, 25:]) and not kept[0, :25].any()


@pytest.mark.parametrize(
    ("named", "given", "words"),
    [
        ({"direction": "backward"}, {}, "direction is 'backward'"),
        ({"activations": ["Sigmoid", "Tanh", "Sine"]}, {}, "'Sine' is not one of ONNX's"),
        ({"activations": ["Sigmoid"]}, {}, "has 1 activation functions, needs 3"),
        ({"hidden_size": 6}, {}, "do not fit inputs"),
        ({"clip": -1.0}, {}, "clip is -1.0"),
        ({"input_forget": 2}, {}, "input_forget is 2"),
        ({"activation_alpha": [float("nan")], "activations": ["Elu", "Tanh", "Tanh"]}, {}, "activation_alpha is nan"),
        ({}, {3: np.zeros((1, 20), np.float32)}, "biases"),
        ({}, {5: np.ones((1, 1, 5), np.float32)}, "input 5 is"),
        ({}, {7: np.ones((1, 10), np.float32)}, "input 7 is"),
        ({}, {4: np.array([1], np.int32)}, "input 4 is"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(named: dict[str, Any], given: dict[int, Any], words: str) -> None:
    with pytest.raises(ModelError) as error:
        from_proto(model("LSTM", 1, given, **named))
    assert words in str(error.value) and "cell" in str(error.value)


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize("flag", [0, 1])
def test_a_graph_of_cells_is_valid_onnx_that_says_the_same(op: str, flag: int) -> None:
    """In ONNX Runtime, in the oracle, which takes the file's own form too, and when it is imported again."""
    g = np.random.default_rng(5)
    given: dict[int, Any] = {3: g.standard_normal((2, GATES[op] * 10)), 5: g.standard_normal((2, 2, 5))}
    given |= {6: g.standard_normal((2, 2, 5)), 7: g.standard_normal((2, 15))} if op == "LSTM" else {}
    given = {place: np.asarray(array, np.float32) for place, array in given.items()} | {4: np.array([2, 3], np.int32)}
    flags = {"GRU": {"linear_before_reset": flag}, "LSTM": {"input_forget": flag}}.get(op, {})
    wanted = {"activations": ["HardSigmoid", "ScaledTanh", "Softplus"][: {"RNN": 1, "GRU": 2, "LSTM": 3}[op]] * 2, "clip": 1.5}
    numbers: dict[str, Any] = {"activation_alpha": [0.3, 0.8, 0.4, 0.9], "activation_beta": [0.4, 1.2, 0.6, 1.1]}
    given_model = model(op, 2, given, **flags, **wanted, **numbers)
    graph = from_proto(given_model).graph
    exported = to_onnx(graph)
    onnx.checker.check_model(exported, full_check=True)
    x = {"x": np.asarray(g.standard_normal((3, 2, 4)), np.float32)}
    expected = [np.asarray(array) for array in run(given_model, x)]
    for found in (run(exported, x), run(to_onnx(from_proto(exported).graph), x), [*Evaluator(exported).run(x).values()]):
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    assert ops(from_proto(exported).graph).count("MatMul") == 2, "the identity is no product"
