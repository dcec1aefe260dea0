"""Streams whose chunks have several sets of shapes: the state goes from run to run, whatever the set."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import parser

import edgec
from edgec.base.errors import UsageError
from tests.apps import webs, wheels
from tests.contract.shaped import CHUNKS, given, stream, stream_settings

KEPT = stream_settings()
TURNS = (0, 1, 1, 2, 0, 1)  # the sets of a stream's runs


def chunks() -> list[np.ndarray]:
    return [given(CHUNKS[place], turn)["x"] for turn, place in enumerate(TURNS)]


def expected(folder: Path, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """The answers of the model, fed back its own state."""
    session, h, answers = onnxruntime.InferenceSession(folder / "stream.onnx"), np.full((1, 4), 0.25, np.float32), []
    for x in inputs:
        y, h = session.run(None, {"x": x, "h": h})
        answers.append(y)
    return answers


def test_a_wheel_goes_from_set_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = wheels.built(stream(tmp_path), tmp_path / "stream", **KEPT)
    wheels.install(wheels.wheel_of(package), tmp_path / "site")
    module = wheels.imported("stream", tmp_path / "site", monkeypatch)
    with module.Stream() as model:
        for _ in range(2):
            for x, right in zip(chunks(), expected(tmp_path, chunks()), strict=True):
                np.testing.assert_allclose(model.run(x).y, right, rtol=1e-5, atol=1e-5)
            with pytest.raises(ValueError, match="no such shapes"):
                model.run(np.zeros((1, 5, 4), np.float32))
            model.reset()
    status, facts = wheels.examined(folder=tmp_path / "site", module="stream")
    assert status == 0 and len(facts["vectors"]) > 2 * len(CHUNKS)


def test_javascript_goes_from_set_to_set(tmp_path: Path) -> None:
    """A run that is refused leaves the state as it was."""
    package = webs.built(stream(tmp_path), tmp_path / "stream", **KEPT)
    code = f"""
    const model = await m.Stream.load(), answers = [];
    for (let round = 0; round < 2; round++) {{
      for (const x of {json.dumps([x.ravel().tolist() for x in chunks()])}) {{
        answers.push([...model.run({{ x: Float32Array.from(x) }}).y]);
        try {{ model.run({{ x: new Float32Array(5) }}); }} catch {{ }}
        try {{ model.run({{ x: Float32Array.from(x) }}, {{ set: 7 }}); }} catch {{ }}
      }}
      model.reset();
    }}
    show(answers);
    """
    answers = webs.node(package, code)
    for found, right in zip(answers, 2 * expected(tmp_path, chunks()), strict=True):
        np.testing.assert_allclose(np.array(found), right.ravel(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_the_exam_asks_streams_of_every_set(precision: str, tmp_path: Path) -> None:
    """And what begins with one set stays with it, where each has a process."""
    samples = {"x": given({"x": (16, 4, 4)}, 0)["x"]}
    settings = KEPT | {"precision": precision, **({"calib": samples, "effort": "fast"} if precision == "int8" else {})}
    package = edgec.build(stream(tmp_path), target="portable", out=tmp_path / "stream", cc="cc -O0", **settings)
    assert package.examine()["passed"]
    text = (package.directory / "exam" / "stream_exam.h").read_text(encoding="utf-8")
    begun = [(int(one), int(number)) for one, number in re.findall(r"^ {4}\{([01]), \{(\d), 0\}", text, re.MULTILINE)]
    assert {number for one, number in begun if one} == {1, 2, 3} and len({pair for pair in begun if not pair[0]}) == 3
    inputs = [given(CHUNKS[1], turn)["x"] for turn in range(3)]
    with package.load() as runner:
        for _ in range(2):
            for x, right in zip(inputs, expected(tmp_path, inputs), strict=True):
                assert np.abs(runner(x)[0] - right).max() < (1e-5 if precision == "fp32" else 0.2)
            with pytest.raises(UsageError, match="began in set 2 of shapes, and these are of set 1"):
                runner(given(CHUNKS[0], 0)["x"])
            runner.reset()
        assert runner(given(CHUNKS[0], 0)["x"])[0].shape == (1, 4, 4)
    if precision == "fp32":
        joined = np.concatenate(inputs)
        found = edgec.run(package, {"x": joined})["y"]
        np.testing.assert_allclose(found, np.concatenate(expected(tmp_path, inputs)), rtol=1e-5, atol=1e-5)
        assert edgec.compare(tmp_path / "stream.onnx", package, {"x": joined}).outputs[0].sqnr_db > 100


def test_a_state_of_two_shapes_is_refused(tmp_path: Path) -> None:
    settings = {"state": {"x": ("y", 0.0)}, "precision": "fp32", "target": "portable"}
    model = tmp_path / "grows.onnx"
    text = '<ir_version: 9, opset_import: ["": 21]> grows (float[1,steps] x, float[1] a) => (y, z) { y = Add(x, a) z = Exp(a) }'
    onnx.save(parser.parse_model(text), model)
    with pytest.raises(UsageError) as caught:
        edgec.build(model, shape={"x": (1, 4)}, also_shape=[{"x": (1, 8)}], out=tmp_path / "out", **settings)
    (problem,) = caught.value.problems
    assert problem.where == "x, set 2 of shapes"
    assert problem.what == "is a state of float32[1,8], and a state of float32[1,4] in the first set"
    assert not (tmp_path / "out").exists()
