"""What answers mean, in JavaScript: detect, segment and keyword through the same C as everywhere; and names that no language likes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgec.base.errors import UsageError
from edgec.package import Package
from tests.apps.webs import built, node

HOSTILE = '*/ alert(1) // "`${x}\u2028</script>'
KINDS = {"float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "bool": TensorProto.BOOL, "uint8": TensorProto.UINT8}


def model(path: Path, inputs: dict[str, Any], outputs: dict[str, Any], nodes: list[Any], **constants: np.ndarray) -> Path:
    """inputs, outputs: name -> (type, shape)."""
    values = [
        [helper.make_tensor_value_info(name, KINDS[kind], shape) for name, (kind, shape) in ports.items()] for ports in (inputs, outputs)
    ]
    held = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "net", *values, held)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


WORDS = {"task": "keyword", "precision": "fp32", "state": {"last": "next"}}


def words(path: Path, given: str = "x") -> Path:
    """Two words, whose scores are 4 times the input without the one before. `given` is its input."""
    nodes = [
        helper.make_node("MatMul", [given, "w"], ["score"]),
        helper.make_node("Add", ["score", "last"], ["y"]),
        helper.make_node("Neg", [given], ["next"]),
    ]
    pair, weights = ("float32", [1, 2]), np.eye(2, dtype=np.float32) * 4
    return model(path, {given: pair, "last": pair}, {"y": pair, "next": pair}, nodes, w=weights)


def detector(folder: Path, given: str = "image") -> Path:
    """A detector whose answer is its constants: two things and one that shares too much with the first. `given` is its input."""
    answer = np.full((1, 21, 7), -20, np.float32)
    answer[0, 0] = (16, 8, 16, 8, 2.2, -20, 20)  # center, size, how sure, and the two classes, before the sigmoid
    answer[0, 5] = (17, 8, 16, 8, 2.0, -20, 20)
    answer[0, 20] = (4, 28, 8, 8, 1.0, 20, -20)
    nodes = [
        helper.make_node("GlobalAveragePool", [given], ["mean"]),
        helper.make_node("Reshape", ["mean", "flat"], ["three"]),
        helper.make_node("MatMul", ["three", "nothing"], ["none"]),
        helper.make_node("Reshape", ["none", "shape"], ["zeros"]),
        helper.make_node("Add", ["zeros", "answer"], ["boxes"]),
    ]
    constants = {"flat": np.array([1, 3]), "nothing": np.zeros((3, 147), np.float32), "shape": np.array([1, 21, 7]), "answer": answer}
    ports = {given: ("float32", [1, 3, 32, 32])}, {"boxes": ("float32", [1, 21, 7])}
    return model(folder / "finder.onnx", *ports, nodes, **constants)


def test_hostile_names_and_every_kind_of_array(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Add", [HOSTILE, "class"], ["constructor"]),
        helper.make_node("Cast", ["n"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Greater", ["real", "class"], ["Class"]),
        helper.make_node("Add", ["n", "n"], ["__proto__"]),
        helper.make_node("Not", ["b"], ["\u6570"]),
    ]
    inputs = {HOSTILE: ("float32", [4]), "class": ("float32", [4]), "n": ("int64", [4]), "b": ("bool", [3])}
    outputs = {"constructor": ("float32", [4]), "Class": ("bool", [4]), "__proto__": ("int64", [4]), "\u6570": ("bool", [3])}
    package = built(model(tmp_path / "m.onnx", inputs, outputs, nodes), tmp_path / "out", precision="fp32", name="Model_error")
    assert Package(package).examine()["passed"]
    code = """
    const { ModelError_2: M } = m, model = await M.load();
    const [text, two, n, b] = Object.keys(M.inputs);
    const given = { [text]: Float32Array.of(1, 2, 3, 4), [two]: new Float32Array(4).fill(2), [b]: Uint8Array.of(0, 1, 0) };
    given[n] = BigInt64Array.of(1n, 2n, 3n, -(2n ** 62n));
    const answers = Object.values(model.run(given)).map((array) => [array.constructor.name, [...array].map(String)]);
    show([Object.keys(m).sort(), Object.keys(M.inputs), Object.keys(M.outputs), Object.values(M.inputs).map(({ name }) => name), answers]);
    """
    exported, keys, results, names, answers = node(package, code)
    assert exported == ["ModelError", "ModelError_2"] and names == list(inputs)
    assert keys == ["alert1XScript", "class_", "n", "b"] and results == ["constructor_", "class_", "proto", "output"]
    assert answers == [
        ["Float32Array", ["3", "4", "5", "6"]],
        ["Uint8Array", ["0", "0", "1", "0"]],
        ["BigInt64Array", ["2", "4", "6", str(-(2**63))]],
        ["Uint8Array", ["1", "0", "1"]],
    ]
    page = (package / "web" / "index.html").read_text(encoding="utf-8")
    assert HOSTILE not in page and page.count("</script>") == 1


def test_detect_gives_boxes_in_the_picture(tmp_path: Path) -> None:
    path = detector(tmp_path)
    (tmp_path / "labels.txt").write_text("cat\ndog\n", encoding="utf-8")
    settings = {"task": "detect", "labels": tmp_path / "labels.txt", "preprocess": {"resize": "letterbox"}}
    package = built(path, tmp_path / "out", precision="fp32", **settings)
    code = """
    const model = await m.Finder.load(), data = new Uint8Array(4 * 128 * 64);
    const image = new Float32Array(3072), inside = model.detect({ image });
    let wrong = "";
    try { model.detect({ image }, { score: NaN }); } catch (error) { wrong = error.message; }
    show([inside, model.detect({ width: 128, height: 64, data }), model.detect({ image }, { score: 0.8, overlap: 1 }).length, wrong]);
    """
    inside, outside, all_dogs, wrong = node(package, code)
    assert [box["label"] for box in inside] == ["dog", "cat"] and [box["index"] for box in inside] == [1, 0]
    assert [inside[0][side] for side in ("left", "top", "right", "bottom")] == [8, 4, 24, 12]
    assert abs(inside[0]["score"] - 0.9) < 1e-3 and all_dogs == 2 and wrong == "score must be a number"
    assert [outside[0][side] for side in ("left", "top", "right", "bottom")] == [32, 0, 96, 16], (
        "4 times larger, 8 rows above it are filled"
    )


def test_segment_and_keyword(tmp_path: Path) -> None:
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"])]
    weights = np.array([1, -1, 0.5], np.float32).reshape(3, 1, 1, 1)
    path = model(tmp_path / "areas.onnx", {"x": ("float32", [1, 1, 2, 3])}, {"y": ("float32", [1, 3, 2, 3])}, nodes, w=weights)
    package = built(path, tmp_path / "areas", precision="fp32", task="segment")
    code = """
    const { mask, width, height } = (await m.Areas.load()).segment({ x: Float32Array.of(1, -1, 0, 2, -2, 3) });
    show([[...mask], width, height]);
    """
    assert node(package, code) == [[0, 1, 0, 0, 1, 0], 3, 2]

    (tmp_path / "labels.txt").write_text("yes\nno\n", encoding="utf-8")
    package = built(words(tmp_path / "words.onnx"), tmp_path / "words", labels=tmp_path / "labels.txt", **WORDS)
    code = """
    const model = await m.Words.load(), x = Float32Array.of(1, 0), heard = [];
    heard.push(model.keyword({ x }), model.keyword({ x: Float32Array.of(0, 1) }, { threshold: 0.9 }));
    model.resetKeyword();
    heard.push(model.keyword({ x: Float32Array.of(0, 1) }));
    model.reset();
    show([...heard, model.keyword({ x })]);
    """
    yes, nothing, no, again = node(package, code)
    assert (yes["label"], no["label"], nothing) == ("yes", "no", None) and abs(yes["score"] - 0.982) < 0.001
    assert again == yes, "a reset forgets what was heard, too"


def test_weights_beside_the_module_are_refused(tmp_path: Path) -> None:
    path = model(tmp_path / "m.onnx", {"x": ("float32", [2])}, {"y": ("float32", [2])}, [helper.make_node("Neg", ["x"], ["y"])])
    with pytest.raises(UsageError, match="holds its weights"):
        built(path, tmp_path / "out", precision="fp32", weights="bin")
    assert not (tmp_path / "out").exists()
