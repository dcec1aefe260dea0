"""What answers mean, in Python: detect, segment and keyword through the same C as everywhere; and names that no language likes."""

from __future__ import annotations

from email.parser import Parser
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import numpy as np
import pytest
from onnx import TensorProto, helper

from edgec.apps.app import App, Tensor
from edgec.apps.wheel import wheel_files
from edgec.emit.exam import ExamData
from edgec.ir.types import DType
from tests.apps.drafts import empty_draft
from tests.apps.test_web_tasks import WORDS, detector, model, words
from tests.apps.wheels import built, imported, install, wheel_of

HOSTILE = '"""*/ + __import__("os").abort() # {{ x }}\n\u2028\\'


def module_of(path: Path, monkeypatch: pytest.MonkeyPatch, **settings: object) -> ModuleType:
    """The module of a float model, installed and imported."""
    package = built(path, path.parent / path.stem, **{"precision": "fp32", **settings})
    (found,) = (package / "python").glob("*/__init__.py")
    install(wheel_of(package), path.parent / "site")
    return imported(found.parent.name, path.parent / "site", monkeypatch)


def test_hostile_names_and_every_kind_of_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [
        helper.make_node("Add", [HOSTILE, "class"], ["self"]),
        helper.make_node("Cast", ["n"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Greater", ["real", "class"], ["Class"]),
        helper.make_node("Add", ["n", "n"], ["__init__"]),
        helper.make_node("Not", ["b"], ["\u6570"]),
    ]
    inputs = {HOSTILE: ("float32", [4]), "class": ("float32", [4]), "n": ("int64", [4]), "b": ("bool", [3])}
    outputs = {"self": ("float32", [4]), "Class": ("bool", [4]), "__init__": ("int64", [4]), "\u6570": ("bool", [3])}
    module = module_of(model(tmp_path / "json.onnx", inputs, outputs, nodes), monkeypatch, name="json")
    assert module.__name__ == "json_2", "Python has one of that name"
    with module.Json() as net:
        assert [tensor.name for tensor in net.inputs.values()] == list(inputs) and [t.name for t in net.outputs.values()] == list(outputs)
        text, *_ = net.inputs
        given = {text: np.arange(1, 5, dtype=np.float32), "class_": np.full(4, 2, np.float32), "b": np.array([False, True, False])}
        found = net.run(**given, n=np.array([1, 2, 3, -(2**62)]))
    answers = [getattr(found, key) for key in net.outputs]
    assert list(net.outputs) == ["self_", "Class", "init", "output"] and [answer.dtype.kind for answer in answers] == list("fbib")
    assert [answer.tolist() for answer in answers] == [
        [3, 4, 5, 6],
        [False, False, True, False],
        [2, 4, 6, -(2**63)],
        [True, False, True],
    ]


def test_detect_gives_boxes_in_the_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = detector(tmp_path, given="score")
    (tmp_path / "labels.txt").write_text("cat\ndog\n", encoding="utf-8")
    settings = {"task": "detect", "labels": tmp_path / "labels.txt", "preprocess": {"resize": "letterbox"}}
    module = module_of(path, monkeypatch, **settings)
    with module.Finder() as net:
        (key,) = net.inputs
        inside = net.detect(np.zeros((1, 3, 32, 32), np.float32))
        outside = net.detect(np.zeros((64, 128, 3), np.uint8))
        assert key == "score_2" and len(net.detect(np.zeros((32, 32), np.uint8), score=0.8, overlap=1)) == 2
        assert len(net.detect(np.zeros((32, 32), np.uint8), most=1)) == 1
        for words, wrong in {
            "score must be": {"score": np.nan},
            "overlap must be": {"overlap": np.inf},
            "most must be": {"most": 0},
        }.items():
            with pytest.raises(ValueError, match=words):
                net.detect(np.zeros((32, 32), np.uint8), **wrong)
    assert [(box.label, box.index) for box in inside] == [("dog", 1), ("cat", 0)] and abs(inside[0].score - 0.9) < 1e-3
    assert (inside[0].left, inside[0].top, inside[0].right, inside[0].bottom) == (8, 4, 24, 12)
    assert (outside[0].left, outside[0].top, outside[0].right, outside[0].bottom) == (32, 0, 96, 16), "4 times larger, 8 rows are filled"


def test_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.array([1, -1, 0.5], np.float32).reshape(3, 1, 1, 1)
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"])]
    path = model(tmp_path / "areas.onnx", {"x": ("float32", [1, 1, 2, 3])}, {"y": ("float32", [1, 3, 2, 3])}, nodes, w=weights)
    with module_of(path, monkeypatch, task="segment").Areas() as net:
        mask = net.segment(np.array([1, -1, 0, 2, -2, 3], np.float32).reshape(1, 1, 2, 3))
    assert mask.dtype == np.uint8 and mask.tolist() == [[0, 1, 0], [0, 1, 0]]


def test_keyword(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "labels.txt").write_text("yes\nno\n", encoding="utf-8")
    yes, no = np.array([[1, 0]], np.float32), np.array([[0, 1]], np.float32)
    with module_of(words(tmp_path / "words.onnx"), monkeypatch, labels=tmp_path / "labels.txt", **WORDS).Words() as net:
        heard = [net.keyword(yes), net.keyword(no, threshold=0.9)]
        net.reset_keyword()
        heard.append(net.keyword(no))
        net.reset()
        again = net.keyword(yes)
    with pytest.raises(RuntimeError, match="closed"):
        net.reset_keyword()
    assert [item and item.label for item in heard] == ["yes", None, "no"] and abs(heard[0].score - 0.982) < 0.001
    assert again == heard[0], "a reset forgets what was heard, too"


def test_the_models_card_is_in_the_wheel_and_cannot_write_lines_of_its_own(tmp_path: Path) -> None:
    nodes = [helper.make_node("Neg", ["x"], ["y"])]
    path = model(tmp_path / "M-x.onnx", {"x": ("float32", [2])}, {"y": ("float32", [2])}, nodes)
    versions = []
    for number, (version, author) in enumerate({"2.10": "Ada\nRequires-Dist: evil", "2.10; evil": "Größe"}.items()):
        card = {"title": "Negative", "version": version, "author": author, "license": "MIT"}
        package = built(path, tmp_path / str(number), precision="fp32", card=card)
        wheel = wheel_of(package)
        with ZipFile(wheel) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
            about = Parser().parsestr(archive.read(name).decode())
        assert about["Name"] == "m-x" and wheel.name.startswith(f"m_x-{about['Version']}-py3-none-")
        assert about.get_all("Requires-Dist") == ["numpy>=1.20"] and (about["Summary"], about["License"]) == ("Negative", "MIT")
        assert about["Author"] == " ".join(author.split())
        versions.append(about["Version"].partition("+"))
    assert [version for version, *_ in versions] == ["2.10", "1.0.0"] and versions[0][2] != versions[1][2]


@pytest.mark.parametrize(
    ("name", "module", "distribution"), [("numpy", "numpy_", "numpy_model"), ("pip", "pip_2", "pip_model"), ("Box_", "Box", "box")]
)
def test_a_model_replaces_nothing_that_an_environment_has(name: str, module: str, distribution: str) -> None:
    tensor = Tensor("x", "x", DType.FLOAT32, (1,))
    found = wheel_files(App(name, "fp32", (tensor,), (tensor,), 0, 0, 0), ExamData([], [], {}), empty_draft(name))
    assert f"python/{module}/__init__.py" in found and any(path.startswith(f"python/{distribution}-1.0.0+m") for path in found)
