"""Support vector machines give what ONNX Runtime computes of them, and what float64 does where that loses digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto

from edgec.base.errors import ModelError
from edgec.exam.reference import FloatModel
from edgec.frontend import from_proto
from tests.frontend.test_classical import COLUMNS, SCORES, X, model_of

ROWS = X[2:]
KERNELS = {"LINEAR": [0.0, 0.0, 0.0], "RBF": [0.3, 0.0, 3.0], "POLY": [0.5, 0.25, 3.0], "SIGMOID": [0.2, -0.1, 3.0]}


def answers(model: onnx.ModelProto, x: np.ndarray = ROWS) -> list[np.ndarray]:
    return FloatModel(from_proto(model).graph)({"x": x})


def agree(model: onnx.ModelProto) -> None:
    expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": ROWS})
    for one, other in zip(answers(model), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)


def regressor(kernel: str, count: int = 7, scale: float = 1.0, **attributes: Any) -> onnx.ModelProto:
    drawn = np.random.default_rng(4)
    vectors, weights = scale * drawn.standard_normal(count * COLUMNS), drawn.standard_normal(count)
    given = {"kernel_type": kernel, "kernel_params": KERNELS[kernel], "n_supports": count, "rho": [0.125]} | attributes
    return model_of(
        "SVMRegressor", {"y": TensorProto.FLOAT}, ROWS, support_vectors=vectors.tolist(), coefficients=weights.tolist(), **given
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_numbers(kernel: str) -> None:
    agree(regressor(kernel))
    agree(regressor(kernel, one_class=1))


def test_numbers_without_vectors() -> None:
    weights = np.random.default_rng(5).standard_normal(COLUMNS).tolist()
    agree(
        model_of(
            "SVMRegressor",
            {"y": TensorProto.FLOAT},
            ROWS,
            coefficients=weights,
            n_supports=0,
            rho=[0.5],
            kernel_type="LINEAR",
            kernel_params=KERNELS["LINEAR"],
        )
    )


def classifier(kernel: str, sizes: list[int], labels: list[int], **attributes: Any) -> onnx.ModelProto:
    drawn, count = np.random.default_rng(6), sum(sizes)
    vectors, weights = drawn.standard_normal(count * COLUMNS), drawn.standard_normal(count * (len(sizes) - 1))
    offsets = 0.1 * drawn.standard_normal(len(sizes) * (len(sizes) - 1) // 2)
    lists = {"support_vectors": vectors, "coefficients": weights, "rho": offsets}
    given: dict[str, Any] = {name: values.tolist() for name, values in lists.items()}
    given |= {"kernel_type": kernel, "kernel_params": KERNELS[kernel], "vectors_per_class": sizes, "classlabels_ints": labels}
    return model_of("SVMClassifier", SCORES, ROWS, **given, **attributes)


@pytest.mark.parametrize("kernel", KERNELS)
def test_votes_of_classes(kernel: str) -> None:
    agree(classifier(kernel, [3, 2, 4], [7, 3, 11]))
    agree(classifier(kernel, [3, 4], [7, 3]))


@pytest.mark.parametrize("after", ["LOGISTIC", "NONE"])
def test_scores_after_a_sigmoid(after: str) -> None:
    agree(classifier("RBF", [2, 3], [0, 1], post_transform=after))


def test_probabilities_of_two_classes() -> None:
    """The label is that of the decision, whatever is likelier. ONNX Runtime stops on its way to the probabilities."""
    decided = answers(classifier("RBF", [3, 4], [5, 2]))[1][:, 1]
    model = classifier("RBF", [3, 4], [5, 2], prob_a=[-2.0], prob_b=[1.0])
    labels, chances = answers(model)
    expected = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": ROWS})
    np.testing.assert_array_equal(labels, expected[0])
    np.testing.assert_allclose(chances, expected[1], atol=0.005)
    first = 1 / (1 + np.exp(-2.0 * decided.astype(np.float64) + 1.0))
    np.testing.assert_allclose(chances, np.stack([first, 1 - first], 1), rtol=1e-5)
    assert (labels != np.array([5, 2])[chances.argmax(1)]).any()


@pytest.mark.parametrize("kernel", ["LINEAR", "RBF"])
def test_large_features_lose_no_digits(kernel: str) -> None:
    """ONNX Runtime's answers of the product are wrong in their first digit here."""
    gamma = 1e-8
    model = regressor(kernel, scale=1e4, kernel_params=[gamma, 0.0, 3.0])
    given = {item.name: item.floats for item in model.graph.node[0].attribute}
    vectors, weights = (np.asarray(given[name], np.float64) for name in ("support_vectors", "coefficients"))
    x, vectors = ROWS.astype(np.float64) * 1e4, vectors.reshape(-1, COLUMNS)
    near = x @ vectors.T if kernel == "LINEAR" else np.exp(-gamma * np.square(x[:, None] - vectors).sum(-1))
    exact = near @ weights + 0.125
    (found,) = answers(model, (ROWS * np.float32(1e4)).astype(np.float32))
    np.testing.assert_allclose(found[:, 0], exact, rtol=1e-5, atol=1e-5 * np.abs(exact).max())
    assert from_proto(model).misread, "ONNX Runtime is no reference here"


@pytest.mark.parametrize(
    ("attributes", "what"),
    [
        ({"prob_a": [1.0] * 3, "prob_b": [0.0] * 3}, "probabilities of 3 classes"),
        ({"kernel_type": "COSINE"}, "unknown kernel"),
        ({"classlabels_ints": [1, 2]}, "vectors of 3 classes and 2 labels"),
        ({"support_vectors": [1.0] * 18}, "its vectors have 2 numbers, its operand 5"),
    ],
)
def test_what_does_not_fit_is_refused(attributes: dict[str, Any], what: str) -> None:
    model = classifier("RBF", [3, 2, 4], [7, 3, 11])
    node = model.graph.node[0]
    kept = [item for item in node.attribute if item.name not in attributes]
    del node.attribute[:]
    node.attribute.extend([*kept, *(onnx.helper.make_attribute(name, value) for name, value in attributes.items())])
    with pytest.raises(ModelError) as caught:
        from_proto(model)
    assert what in str([problem.what for problem in caught.value.problems])
