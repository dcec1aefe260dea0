"""Which task a model's outputs allow, told by shapes and by the operators that make them; and what labels may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edgec.apps.app import Task
from edgec.apps.find_task import Wanted, find_task, fit_labels
from edgec.apps.labels import read_labels
from edgec.base.errors import ModelError, UsageError
from edgec.base.harmless import in_a_comment
from edgec.emit import c_text
from edgec.ir.graph import Graph, Node
from edgec.ir.types import DType, Shape, Symbol, TensorType
from edgec.pipeline.prepare import prepare
from edgec.settings.config import BuildConfig

CELLS = 8 * 12 + 4 * 6 + 2 * 3  # of a picture of 64 x 96


def graph(*outputs: tuple[str, Shape, str], picture: Shape = (1, 3, 64, 96), dtype: DType = DType.FLOAT32) -> Graph:
    """One convolution and, for each output (name, shape, operators), a chain of operators behind it."""
    made = Graph("net", ["x"], types={"x": TensorType(DType.FLOAT32, picture), "features": TensorType(DType.FLOAT32, (1, 8, 8, 8))})
    made.nodes.append(Node("Conv", ["x"], ["features"]))
    for name, shape, operators in outputs:
        names = ["features", *(f"{name}_{step}" for step in range(len(operators.split()) - 1)), name]
        for operator, source, result in zip(operators.split(), names, names[1:], strict=False):
            made.nodes.append(Node(operator, [source], [result]))
            made.types[result] = TensorType(dtype, shape)
        made.outputs.append(name)
    return made


def found(made: Graph, task: str, **settings: Any) -> Task:
    result, _ = find_task(made, Wanted(task, **settings))
    return result


@pytest.mark.parametrize(
    ("operators", "activation"),
    [
        ("Gemm", "softmax"), ("Gemm Softmax", "none"), ("Sigmoid Reshape DequantizeLinear", "none"), ("Exp Div", "none"),
        ("Softmax Mul", "softmax"), ("LogSoftmax", "softmax"), ("Softmax Slice Clip Concat", "none"),
    ],
)  # fmt: skip
def test_scores_are_made_only_where_the_model_makes_none(operators: str, activation: str) -> None:
    assert found(graph(("y", (1, 10), operators)), "classify") == Task("classify", "scores", ("y",), 10, activation=activation)


def test_one_class_is_a_matter_of_yes_or_no() -> None:
    assert found(graph(("y", (1, 1), "Gemm")), "keyword").activation == "sigmoid"


def test_the_answer_is_found_beside_other_outputs() -> None:
    assert found(graph(("state", (2, 1, 128), "Add"), ("y", (1, 12), "Gemm")), "keyword").outputs == ("y",)


@pytest.mark.parametrize(
    ("shape", "operators", "head", "classes", "activation"),
    [
        ((1, CELLS, 85), "Sigmoid Concat Transpose", "yolox", 80, "none"),
        ((1, CELLS, 6), "Concat Transpose", "yolox", 1, "sigmoid"),
        ((1, CELLS, 85), "Sigmoid Exp Mul Concat", "rows", 80, "none"),
        ((1, CELLS, 85), "Sigmoid Sub Mul Concat", "rows", 80, "none"),
        ((1, 3 * CELLS, 85), "Sigmoid Mul Concat", "rows", 80, "none"),
        ((1, 3 * CELLS + 6, 9), "Sigmoid Mul Concat", "rows", 4, "none"),
        ((1, 84, CELLS), "Sigmoid Mul Concat", "columns", 80, "none"),
        ((5, CELLS), "Sub Concat", "columns", 1, "sigmoid"),
    ],
)
def test_heads_are_told_apart_by_anchors_and_operators(shape: Shape, operators: str, head: str, classes: int, activation: str) -> None:
    assert found(graph(("y", shape, operators)), "detect") == Task("detect", head, ("y",), classes, 64, 96, activation)


def test_sizes_that_no_stride_divides_have_the_cells_that_convolutions_leave() -> None:
    made = graph(("y", (1, 9 * 13 + 5 * 7 + 3 * 4, 7), "Sigmoid"), picture=(1, 65, 97, 3))
    assert found(made, "detect") == Task("detect", "yolox", ("y",), 2, 65, 97)


@pytest.mark.parametrize("names", [("scores", "boxes"), ("boxes", "scores")], ids=" first, then ".join)
def test_scores_and_boxes_come_in_either_order(names: tuple[str, str]) -> None:
    outputs = {"scores": ("scores", (1, 40, 4), "Softmax"), "boxes": ("boxes", (1, 40, 4), "Exp Sub Concat")}
    assert found(graph(*(outputs[name] for name in names)), "detect") == Task("detect", "ssd", ("scores", "boxes"), 3, 64, 96)


@pytest.mark.parametrize("rival", [((1, 40, 4), "Reshape Concat"), ((1, 3 * CELLS, 8), "Sigmoid Concat"), ((1, 8, CELLS), "Concat")])
def test_boxes_that_are_not_decoded_are_refused_with_what_is_recognized(rival: tuple[Shape, str]) -> None:
    with pytest.raises(ModelError) as caught:
        found(graph(("scores", (1, 40, 3), "Softmax"), ("boxes", *rival)), "detect")
    assert "no output fits" in str(caught.value)
    assert f"'boxes' float32[{','.join(map(str, rival[0]))}]" in str(caught.value)
    assert "YOLOX: [1,N,5+C]" in str(caught.value)


@pytest.mark.parametrize(
    ("shape", "operators", "task"),
    [
        ((1, 5, 64, 96), "Conv", Task("segment", "nchw", ("y",), 5, 64, 96)),
        ((1, 32, 48, 21), "Softmax", Task("segment", "nhwc", ("y",), 21, 32, 48)),
        ((1, 1, 64, 96), "Conv", Task("segment", "threshold", ("y",), 2, 64, 96, "sigmoid")),
        ((1, 64, 96, 1), "Sigmoid", Task("segment", "threshold", ("y",), 2, 64, 96)),
        ((1, 64, 96), "Sigmoid Squeeze", Task("segment", "threshold", ("y",), 2, 64, 96)),
        ((1, 10, 10, 3), "Conv", Task("segment", "nhwc", ("y",), 3, 10, 10)),
    ],
)
def test_masks_have_their_classes_where_the_picture_has_none(shape: Shape, operators: str, task: Task) -> None:
    assert found(graph(("y", shape, operators)), "segment") == task


def test_a_mask_of_numbers_is_taken_as_it_is() -> None:
    made = graph(("y", (1, 64, 96), "ArgMax"), dtype=DType.INT64)
    assert found(made, "segment") == Task("segment", "numbers", ("y",), 256, 64, 96)


def test_channels_last_turns_a_mask_too() -> None:
    assert found(graph(("y", (1, 5, 64, 96), "Conv")), "segment", channels_last=True).head == "nhwc"


@pytest.mark.parametrize("shape", [(2, 10), (1, 3, 64), (1, 2, 3, 4)])
def test_an_answer_of_another_form_is_no_class(shape: Shape) -> None:
    with pytest.raises(ModelError, match="no output fits"):
        found(graph(("y", shape, "Gemm")), "classify")


def test_two_answers_that_fit_are_none() -> None:
    with pytest.raises(ModelError, match="several outputs fit"):
        found(graph(("y", (1, 10), "Gemm"), ("z", (1, 5), "Gemm")), "classify")


def test_sizes_have_to_be_fixed() -> None:
    with pytest.raises(UsageError, match=r"N<=8.*--shape"):
        found(graph(("y", (Symbol("N", 8), 10), "Gemm")), "classify")


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "labels.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_labels_are_lines_in_utf_8(tmp_path: Path) -> None:
    assert read_labels(write(tmp_path, "\ufeffcat\r\nGröße 日本 👍\n\n\"'`$(ls)??/\\\n\n")) == (
        "cat",
        "Größe 日本 👍",
        "",
        "\"'`$(ls)??/\\",
    )
    assert read_labels(None) == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "no labels"), (b"\n\n", "no labels"), (b"a\nb\xff\n", "not UTF-8"), (b"a\x00b", r":1: .*U\+0000"), (b"a\tb", "U.0009"),
        ("ok\nright\u202eleft", r":2: .*U\+202E"), ("a\u200f", "U.200F"), ("a\u2028b", "U.2028"), ("a\x0bb", "U.000B"), ("a\rb", "U.000D"),
        ("x" * 1001, "longer than 1000"), (b"a\n" * 65537, "more than"), (b"a" * ((1 << 20) + 1), "more than"),
        (b"\n\x01" * 999, "999 labels"),
    ],
)  # fmt: skip
def test_labels_that_cannot_be_shown_are_refused(tmp_path: Path, text: str | bytes, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        read_labels(write(tmp_path, text))


def test_a_label_file_of_the_wrong_length_says_both_numbers(tmp_path: Path) -> None:
    path = write(tmp_path, "a\nb\nc\n")
    with pytest.raises(UsageError, match=r"labels.txt: holds 3 labels, and the model has 10 classes"):
        find_task(graph(("y", (1, 10), "Gemm")), Wanted("classify", path))
    assert find_task(graph(("y", (1, 3), "Gemm")), Wanted("classify", path))[1] == ("a", "b", "c")


def test_a_background_may_be_in_the_file_or_not() -> None:
    pair = Task("detect", "ssd", ("s", "b"), 2, 64, 96)
    assert fit_labels(pair, ("background", "cat", "dog"), None) == fit_labels(pair, ("cat", "dog"), None) == ("cat", "dog")
    thing = Task("segment", "threshold", ("y",), 2, 64, 96)
    assert fit_labels(thing, ("cat",), None) == ("background", "cat")
    with pytest.raises(UsageError, match="holds 1 labels"):
        fit_labels(pair, ("cat",), None)


def test_labels_without_a_task_are_an_error_before_the_work(tmp_path: Path) -> None:
    model = tmp_path / "net.onnx"
    model.touch()
    with pytest.raises(UsageError, match="labels need a task"):
        prepare(model, BuildConfig(labels=write(tmp_path, "a\n"), compile=False))
    with pytest.raises(UsageError, match=r"missing\.txt: cannot read the labels"):
        prepare(model, BuildConfig(task="classify", labels=tmp_path / "missing.txt", compile=False))


@pytest.mark.parametrize("text", ["*\\", "*/", "/*/", "**//*", "???/", "??/??/", "*\n/", "*\r\\/", "\\*\\"])
def test_no_name_ends_a_comment(text: str) -> None:
    for made in (in_a_comment(text), c_text.comment((text,))[2:-2]):
        assert not any(pair in made for pair in ("*/", "/*", "??", "\\"))
