"""TreeEnsemble, which counts branches and leaves apart, gives what ONNX Runtime computes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from edgec.base.errors import ModelError
from edgec.exam.reference import FloatModel
from edgec.frontend import from_proto

ROWS, COLUMNS = 40, 5
NUMBERS = {"nodes_splits": None, "leaf_weights": None, "nodes_modes": np.uint8}  # tensors and their type, None that of the operand


def model_of(kind: str, attributes: dict[str, Any]) -> onnx.ModelProto:
    tensors = {
        name: numpy_helper.from_array(np.asarray(attributes[name], own or kind), name)
        for name, own in NUMBERS.items()
        if name in attributes
    }
    node = helper.make_node("TreeEnsemble", ["x"], ["y"], "trees", domain="ai.onnx.ml", **(attributes | tensors))
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    given = [helper.make_tensor_value_info("x", element, [ROWS, COLUMNS])]
    made = [helper.make_tensor_value_info("y", element, None)]
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 5)]
    return helper.make_model(helper.make_graph([node], "g", given, made), opset_imports=sets, ir_version=9)


def forest(trees: int, targets: int, mode: int) -> dict[str, Any]:
    """Trees of a root whose yes is a leaf and whose no is a branch to two, and a last one that is a leaf."""
    dice, count = np.random.default_rng(7), 2 * trees + 1
    return {
        "tree_roots": [2 * tree for tree in range(trees + 1)],
        "nodes_featureids": dice.integers(0, COLUMNS, count).tolist(),
        "nodes_splits": dice.standard_normal(count).tolist(),
        "nodes_modes": [mode] * count,
        "nodes_missing_value_tracks_true": dice.integers(0, 2, count).tolist(),
        "nodes_trueleafs": [1] * count,
        "nodes_truenodeids": [3 * tree + side for tree in range(trees) for side in (0, 1)] + [3 * trees],
        "nodes_falseleafs": [0, 1] * trees + [1],
        "nodes_falsenodeids": [place for tree in range(trees) for place in (2 * tree + 1, 3 * tree + 2)] + [3 * trees],
        "leaf_targetids": dice.integers(0, targets, 3 * trees + 1).tolist(),
        "leaf_weights": dice.standard_normal(3 * trees + 1).tolist(),
        "n_targets": targets,
    }


@pytest.mark.parametrize("mode", range(5))
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("aggregate", [0, 1])
def test_trees_of_numbers(kind: str, mode: int, aggregate: int) -> None:
    """The operand holds the splits themselves too, on whose side a number in double precision stays in float32."""
    attributes = forest(6, 3, mode)
    x = np.resize(np.asarray(attributes["nodes_splits"], kind), (COLUMNS, ROWS)).T.copy()
    x[1, :2] = np.nan
    model = model_of(kind, {**attributes, "aggregate_function": aggregate})
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    graph = from_proto(model).graph
    (found,) = FloatModel(graph)({"x": x.astype(np.float32)})
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)
    assert {name: held.value for name, held in graph.held.items()} == ({"x": kind, "y": kind} if kind == "float64" else {})


@pytest.mark.parametrize("mode", range(4))
def test_whole_numbers_stay_on_their_side_of_splits_that_are_nearly_whole(mode: int) -> None:
    attributes, dice = forest(6, 3, mode), np.random.default_rng(2)
    near = dice.integers(-2, 3, len(attributes["nodes_splits"]))
    attributes["nodes_splits"] = (near + dice.choice([-1e-9, 0, 1e-9], len(near))).tolist()
    x = dice.integers(-2, 3, (ROWS, COLUMNS)).astype(np.float64)
    model = model_of("float64", attributes)
    (expected,) = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    (found,) = FloatModel(from_proto(model).graph)({"x": x.astype(np.float32)})
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("after", [1, 2])
def test_what_comes_after_is_counted_as_onnx_says_and_not_as_onnx_runtime_does(after: int) -> None:
    x = np.random.default_rng(3).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    plain, changed = (from_proto(model_of("float32", forest(6, 3, 0) | {"post_transform": number})) for number in (0, after))
    (scores,), (found,) = (FloatModel(imported.graph)({"x": x}) for imported in (plain, changed))
    raised = np.exp(scores)
    wanted = {1: raised / raised.sum(axis=1, keepdims=True), 2: raised / (1 + raised)}[after]
    np.testing.assert_allclose(found, wanted, rtol=2e-6)
    assert len(changed.misread) == 1 and not plain.misread


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tree_roots": [0, 1, 2]}, "root 1"), ({"tree_roots": [9, 2]}, "root 9"), ({"nodes_modes": [0]}, "nodes_modes has 1 elements"),
        ({"nodes_truenodeids": [0, 1, 7]}, "leaf 7"), ({"nodes_falsenodeids": [5, 2, 3]}, "node 5"),
        ({"nodes_falsenodeids": [0, 2, 3]}, "without one root"), ({"nodes_modes": [6, 6, 6]}, "BRANCH_MEMBER"),
        ({"post_transform": 4}, "PROBIT"), ({"aggregate_function": 2}, "MIN"), ({"post_transform": 8}, "unknown post_transform 8"),
    ],
)  # fmt: skip
def test_damaged_and_unknown_trees_are_refused(change: dict[str, Any], words: str) -> None:
    from_proto(model_of("float32", forest(1, 1, 0)))
    with pytest.raises(ModelError, match=words):
        from_proto(model_of("float32", forest(1, 1, 0) | change))
