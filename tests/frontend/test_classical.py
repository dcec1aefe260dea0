"""Models of ai.onnx.ml give what ONNX Runtime computes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from edgec.base.errors import ModelError
from edgec.exam.reference import FloatModel
from edgec.frontend import from_proto

ROWS, COLUMNS = 40, 5
X = np.random.default_rng(3).standard_normal((ROWS, COLUMNS)).astype(np.float32)
X[0], X[1, :2] = 0, np.nan


def model_of(op: str, outputs: dict[str, int], x: np.ndarray = X, **attributes: Any) -> onnx.ModelProto:
    node = helper.make_node(op, ["x"], list(outputs), op.lower(), domain="ai.onnx.ml", **attributes)
    given = [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), list(x.shape))]
    made = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs.items()]
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(helper.make_graph([node], "g", given, made), opset_imports=sets, ir_version=9)


def agree(model: onnx.ModelProto, x: np.ndarray = X) -> None:
    expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    found = FloatModel(from_proto(model).graph)({"x": x})
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        ("Scaler", {"offset": [0.5] * COLUMNS, "scale": [1.0, 2, 3, 4, 5]}), ("Scaler", {"offset": [0.5], "scale": [3.0]}),
        *(("Normalizer", {"norm": norm}) for norm in ("L1", "MAX")), ("Binarizer", {"threshold": 0.25}),
        ("LinearRegressor", {"coefficients": [float(n) for n in range(10)], "intercepts": [1.0, -2], "targets": 2}),
        ("LinearRegressor", {"coefficients": [float(n) for n in range(5)]}),
    ],
)  # fmt: skip
def test_numbers(op: str, attributes: dict[str, Any]) -> None:
    agree(model_of(op, {"y": TensorProto.FLOAT}, X[2:], **attributes), X[2:])


def test_the_second_norm_is_one() -> None:
    """ONNX Runtime's loses the signs, and scikit-learn's does not."""
    (found,) = FloatModel(from_proto(model_of("Normalizer", {"y": TensorProto.FLOAT}, X[2:], norm="L2")).graph)({"x": X[2:]})
    np.testing.assert_allclose(found, X[2:] / np.linalg.norm(X[2:], axis=1, keepdims=True), rtol=1e-6)


SCORES = {"label": TensorProto.INT64, "scores": TensorProto.FLOAT}


@pytest.mark.parametrize("after", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_linear_classes(count: int, after: str) -> None:
    weights = np.random.default_rng(count).standard_normal(count * COLUMNS).tolist()
    labels = [7, 3, 11, 5][: max(count, 2)]
    agree(
        model_of(
            "LinearClassifier", SCORES, X[2:], coefficients=weights, intercepts=[0.1] * count, classlabels_ints=labels, post_transform=after
        ),
        X[2:],
    )


def forest(generator: np.random.Generator, trees: int, what: str, count: int, mode: str, *, low: float = -1.0) -> dict[str, Any]:
    """Attributes of random trees, of up to three levels, with a number for each target at each leaf."""
    found: dict[str, list[Any]] = {
        key: [] for key in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    }
    said: dict[str, list[Any]] = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
    missing: list[int] = []
    for tree in range(trees):
        left, number = [(0, 0)], 1
        while left:
            node, level = left.pop(0)
            branches = level < 3 and generator.random() < 0.8
            row = (tree, node, int(generator.integers(COLUMNS)), float(generator.standard_normal()), mode if branches else "LEAF")
            for key, value in zip(found, (*row, number if branches else 0, number + 1 if branches else 0), strict=True):
                found[key].append(value)
            missing.append(int(branches and generator.random() < 0.5))
            if branches:
                left += [(number, level + 1), (number + 1, level + 1)]
                number += 2
            else:
                for target in range(count):
                    for key, value in zip(said, (tree, node, int(target), float(generator.uniform(low, 1))), strict=True):
                        said[key].append(value)
    named = {f"nodes_{key}": values for key, values in found.items()} | {f"{what}_{key}": values for key, values in said.items()}
    return {**named, "nodes_missing_value_tracks_true": missing}


@pytest.mark.parametrize("mode", ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ"])
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE"])
def test_trees_of_numbers(mode: str, aggregate: str) -> None:
    drawn = forest(np.random.default_rng(5), 6, "target", 3, mode)
    base = {"base_values": [0.5, -0.25, 1.0]} if aggregate == "SUM" else {}
    agree(model_of("TreeEnsembleRegressor", {"y": TensorProto.FLOAT}, n_targets=3, aggregate_function=aggregate, **drawn, **base))


@pytest.mark.parametrize("after", ["NONE", "LOGISTIC", "SOFTMAX"])
@pytest.mark.parametrize(("count", "labels"), [(3, [4, 2, 9]), (1, [5, 6])])
@pytest.mark.parametrize("low", [-1.0, 0.0])
def test_trees_of_classes(low: float, count: int, labels: list[int], after: str) -> None:
    drawn = forest(np.random.default_rng(8), 5, "class", count, "BRANCH_LEQ", low=low)
    if low == 0:
        drawn["class_weights"] = [weight / 5 for weight in drawn["class_weights"]]
    agree(model_of("TreeEnsembleClassifier", SCORES, classlabels_int64s=labels, post_transform=after, **drawn))


def test_trees_that_speak_of_both_of_two_classes_say_the_larger() -> None:
    drawn = forest(np.random.default_rng(8), 5, "class", 2, "BRANCH_LEQ")
    model = model_of("TreeEnsembleClassifier", SCORES, classlabels_int64s=[5, 6], **drawn)
    imported = from_proto(model)
    label, scores = FloatModel(imported.graph)({"x": X})
    assert len(imported.misread) == 1 and (label == np.array([5, 6])[scores.argmax(1)]).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"nodes_treeids": [0] * 3, "nodes_nodeids": [0, 1, 1]}, "two of one number"),
        ({"nodes_truenodeids": [7, 0, 0]}, "which is not there"),
        ({"nodes_truenodeids": [2, 0, 0]}, "root"), ({"nodes_values": [0.5]}, "nodes_values has 1 elements for 3 nodes"),
        ({"nodes_featureids": [1]}, "nodes_featureids has 1"), ({"nodes_missing_value_tracks_true": [1]}, "has 1 elements for 3 nodes"),
        ({"nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_LEQ"], "nodes_truenodeids": [1, 0, 2], "nodes_falsenodeids": [1, 0, 2]},
         "leads back"),
        ({"nodes_modes": ["BRANCH_LEQ", "LEAF", "BRANCH_LEQ"], "nodes_truenodeids": [1, 0, 1], "nodes_falsenodeids": [2, 0, 2]},
         "leads back"),
        ({"nodes_treeids": [0, 0, 1], "nodes_nodeids": [0, 1, 0], "nodes_modes": ["LEAF", "LEAF", "BRANCH_LEQ"],
          "target_nodeids": [0, 1], "nodes_truenodeids": [0, 0, 0], "nodes_falsenodeids": [0, 0, 0]}, "root"),
        ({"nodes_featureids": [9, 0, 0]}, "feature 9"), ({"target_ids": [3, 0]}, "number 3"),
    ],
)  # fmt: skip
def test_damaged_trees_are_refused(change: dict[str, Any], words: str) -> None:
    whole = {
        "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [1, 0, 0], "nodes_values": [0.0] * 3,
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0], "n_targets": 1,
    }  # fmt: skip
    agree(model_of("TreeEnsembleRegressor", {"y": TensorProto.FLOAT}, **whole))
    with pytest.raises(ModelError, match=words):
        from_proto(model_of("TreeEnsembleRegressor", {"y": TensorProto.FLOAT}, **(whole | change)))


def test_categories_that_are_text_are_refused() -> None:
    with pytest.raises(ModelError, match="categories are text"):
        from_proto(model_of("OneHotEncoder", {"y": TensorProto.FLOAT}, cats_strings=["a", "b"]))


def test_missing_numbers_are_filled_in() -> None:
    means = [0.5, 1.5, 2.5, 3.5, 4.5]
    agree(model_of("Imputer", {"y": TensorProto.FLOAT}, imputed_value_floats=means, replaced_value_float=float("nan")))
    agree(model_of("Imputer", {"y": TensorProto.FLOAT}, imputed_value_floats=[7.0], replaced_value_float=0.0))
    whole = np.array([[1, -1], [-1, 3]])
    agree(model_of("Imputer", {"y": TensorProto.INT64}, whole, imputed_value_int64s=[8, 9], replaced_value_int64=-1), whole)


def test_columns_of_several_operands_stand_side_by_side() -> None:
    model = model_of("FeatureVectorizer", {"y": TensorProto.FLOAT}, X[2:], inputdimensions=[COLUMNS, COLUMNS])
    model.graph.node[0].input.append("x")
    agree(model, X[2:])
    del model.graph.node[0].attribute[0].ints[1]
    with pytest.raises(ModelError, match="counts"):
        from_proto(model)
