"""Names of classes: maps become rows of scores, labels that are text become numbers, keys become values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import edgec
from edgec.base.errors import ModelError
from edgec.exam.reference import FloatModel
from edgec.frontend import from_proto
from tests.frontend.test_classical import COLUMNS, X

ROWS = X[2:]
ML = "ai.onnx.ml"
WEIGHTS = {"coefficients": np.random.default_rng(1).standard_normal(3 * COLUMNS).tolist(), "intercepts": [0.1, 0.2, 0.3]}
NAMES = ["rose", "lily", "aster"]


def model_of(
    nodes: list[onnx.NodeProto], outputs: list[onnx.ValueInfoProto], *given: onnx.TensorProto, x: np.ndarray = ROWS, version: int = 3
) -> onnx.ModelProto:
    inputs = [helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(x.dtype), list(x.shape))]
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(given))
    sets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, version)]
    return helper.make_model(graph, opset_imports=sets, ir_version=9)


def ml(op: str, given: list[str], made: list[str], **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, given, made, op.lower(), domain=ML, **attributes)


def asked(model: onnx.ModelProto, x: np.ndarray = ROWS) -> list[Any]:
    found: list[Any] = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})
    return found


def mapped(labels: list[int] | list[str]) -> onnx.ModelProto:
    """What scikit-learn's classifiers are exported as."""
    text = isinstance(labels[0], str)
    key = {"classlabels_strings" if text else "classlabels_ints": labels}
    named = {"classlabels_strings" if text else "classlabels_int64s": labels}
    kind = TensorProto.STRING if text else TensorProto.INT64
    one = helper.make_map_type_proto(kind, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    outputs = [
        helper.make_tensor_value_info("label", kind, [None]),
        helper.make_value_info("chances", helper.make_sequence_type_proto(one)),
    ]
    nodes = [
        ml("LinearClassifier", ["x"], ["label", "scores"], post_transform="SOFTMAX", **WEIGHTS, **key),
        ml("ZipMap", ["scores"], ["chances"], **named),
    ]
    return model_of(nodes, outputs)


def test_maps_become_rows_of_scores(tmp_path: Path) -> None:
    """ONNX Runtime is asked about the file as it is."""
    model = mapped([3, 5, 9])
    imported = from_proto(model)
    onnx.save(model, tmp_path / "m.onnx")
    reference = FloatModel(imported.graph, tmp_path / "m.onnx")
    assert reference.from_file and not imported.misread
    for one, other in zip(reference({"x": ROWS}), FloatModel(imported.graph)({"x": ROWS}), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    assert "output chances: in place of maps a row of scores, of the classes 3, 5, 9" in imported.notes


def test_labels_that_are_text_become_numbers() -> None:
    model = mapped(NAMES)
    imported = from_proto(model)
    labels, scores = FloatModel(imported.graph)({"x": ROWS})
    expected, maps = asked(model)
    assert [NAMES[number] for number in labels] == list(expected)
    np.testing.assert_allclose(scores, [[row[name] for name in NAMES] for row in maps], rtol=1e-5)
    assert "output label: in place of text its number, of 'rose', 'lily', 'aster', from 0 on" in imported.notes
    assert set(imported.misread) == {"output label", "output chances"}  # maps are in alphabetical order


def test_notes_tell_of_long_names_their_ends() -> None:
    (note,) = [note for note in from_proto(mapped(["a" * 100_000, "b", "c"])).notes if "label" in note]
    assert "...aaa" in note and len(note) < 200


def test_text_is_moved_about() -> None:
    """As scikit-learn's other classifiers are exported: the place of the largest score among names."""
    classes = helper.make_tensor("classes", TensorProto.STRING, [3], NAMES)
    nodes = [
        ml("LinearRegressor", ["x"], ["scores"], targets=3, **WEIGHTS),
        helper.make_node("ArgMax", ["scores"], ["best"], axis=1),
        ml("ArrayFeatureExtractor", ["classes", "best"], ["found"]),
        helper.make_node("Cast", ["found"], ["cast"], to=TensorProto.STRING),
        helper.make_node("Reshape", ["cast", "shape"], ["label"]),
        ml("LabelEncoder", ["label"], ["code"], keys_strings=["lily", "aster"], values_int64s=[40, 50], default_int64=-7),
    ]
    outputs = [
        helper.make_tensor_value_info("label", TensorProto.STRING, [None]),
        helper.make_tensor_value_info("code", TensorProto.INT64, [None]),
    ]
    model = model_of(nodes, outputs, classes, helper.make_tensor("shape", TensorProto.INT64, [1], [-1]))
    labels, codes = FloatModel(from_proto(model).graph)({"x": ROWS})
    expected = asked(model)
    assert [NAMES[number] for number in labels] == list(expected[0]) and set(labels) == {0, 1, 2}
    np.testing.assert_array_equal(codes, expected[1])


@pytest.mark.parametrize(
    ("x", "attributes", "kind"),
    [
        (np.array([4, 2, 9, 2]), {"keys_int64s": [2, 4], "values_floats": [0.5, 1.5], "default_float": -1.0}, TensorProto.FLOAT),
        (np.array([1, np.nan, 2], np.float32), {"keys_floats": [np.nan, 1.0], "values_int64s": [8, 9]}, TensorProto.INT64),
        (np.array([[1, 2], [3, 1]]), {"keys_int64s": [1, 3], "values_int64s": [7, 8], "default_int64": 5}, TensorProto.INT64),
    ],
)
def test_keys_become_values(x: np.ndarray, attributes: dict[str, Any], kind: int) -> None:
    model = model_of([ml("LabelEncoder", ["x"], ["y"], **attributes)], [helper.make_tensor_value_info("y", kind, None)], x=x)
    np.testing.assert_array_equal(FloatModel(from_proto(model).graph)({"x": x})[0], asked(model, x)[0])


def test_keys_that_are_no_numbers_equal_each_other_from_version_4_on() -> None:
    x = np.array([1, np.nan, 2], np.float32)
    node = ml("LabelEncoder", ["x"], ["y"], keys_floats=[np.nan, 1.0], values_floats=[8.0, 9.0], default_float=-1.0)
    for version, answer in ((3, [9, -1, -1]), (4, [9, 8, -1])):
        model = model_of([node], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], x=x, version=version)
        assert FloatModel(from_proto(model).graph)({"x": x})[0].tolist() == answer == asked(model, x)[0].tolist()


def test_numbers_become_text() -> None:
    x = np.array([4, 2, 9])
    node = ml("LabelEncoder", ["x"], ["y"], keys_int64s=[2, 4], values_strings=["two", "four"], default_string="other")
    imported = from_proto(model_of([node], [helper.make_tensor_value_info("y", TensorProto.STRING, None)], x=x))
    assert FloatModel(imported.graph)({"x": x})[0].tolist() == [1, 0, 2]
    assert "output y: in place of text its number, of 'two', 'four', 'other', from 0 on" in imported.notes


@pytest.mark.parametrize(
    ("node", "what"),
    [
        (helper.make_node("Equal", ["label", "label"], ["y"]), "computes with text"),
        (helper.make_node("Concat", ["label", "label"], ["y"], axis=0), "computes with text"),
        (ml("LabelEncoder", ["x"], ["y"], keys_strings=["a"], values_int64s=[1]), "its keys are text, its operand is none"),
        (ml("ZipMap", ["x"], ["y"], classlabels_int64s=[1, 2]), "has 2 classes for an operand of shape"),
    ],
)
def test_what_computes_with_text_is_refused(node: onnx.NodeProto, what: str) -> None:
    first = ml("LinearClassifier", ["x"], ["label", "scores"], classlabels_strings=NAMES, **WEIGHTS)
    model = model_of([first, node], [helper.make_tensor_value_info("y", TensorProto.BOOL, None)])
    with pytest.raises(ModelError) as caught:
        from_proto(model)
    assert what in str([problem.what for problem in caught.value.problems])


def test_a_package_finds_keys(tmp_path: Path, needs) -> None:
    """Of one and of two axes; the build examines it."""
    needs("gcc")
    for number, x in enumerate((np.array([4, 2, 9]), np.array([[1, 2], [3, 1]]))):
        node = ml("LabelEncoder", ["x"], ["y"], keys_int64s=[2, 4, 1], values_floats=[0.5, 1.5, 2.5], default_float=-1.0)
        onnx.save(model_of([node], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], x=x), tmp_path / "keys.onnx")
        out = tmp_path / str(number)
        package = edgec.build(tmp_path / "keys.onnx", precision="fp32", target="portable", cc="gcc -O0", out=out)
        np.testing.assert_array_equal(package.load()(x)[0], np.vectorize({2: 0.5, 4: 1.5, 1: 2.5}.get)(x, -1.0))
