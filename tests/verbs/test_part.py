"""A part of a model, and inputs that are fixed: from flags, Python and edgec.toml to the package and its comparison."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

import edgec
from tests.calling import QUICK, Program

pytestmark = pytest.mark.usefixtures("kept_builds")

GAIN = """(float[1,4] x, int64 mode) => (float[1,4] y) {
  two = Constant<value = int64 {2}>()  is = Equal(mode, two)
  y = If(is) <then_branch = t () => (float[1,4] a) { a = Exp(x) }, else_branch = f () => (float[1,4] b) { b = Neg(x) }>
}"""


def test_inspect_shows_the_part(work: Path, program: Program) -> None:
    found = program("inspect", "digits.onnx", "--output", "s3", "--input", "a2", "--json").json
    assert [port["name"] for port in (*found["inputs"], *found["outputs"])] == ["a2", "s3"]
    assert found["operators"] == {"Add": 1, "Conv": 1}


def test_a_part_is_built_and_compared(work: Path, program: Program) -> None:
    assert program("build", "-q", "digits.onnx", "--calib", "calibration.npz", "--output", "features", "-o", "out", *QUICK).code == 0
    assert program("compare", "digits.onnx", "out", "--data", "evaluation.npz", "--samples", "5").code == 0
    assert json.loads(Path("out/manifest.json").read_text())["options"]["output"] == ["features"]


def test_quantize_writes_the_part(work: Path, program: Program) -> None:
    assert (
        program("quantize", "digits.onnx", "--calib", "calibration.npz", "--output", "pooled", "-o", "part.onnx", "--effort", "fast").code
        == 0
    )
    assert [value.name for value in onnx.load("part.onnx").graph.output] == ["pooled"]


def test_a_constant_is_fixed_by_a_file_and_the_answers_are_the_models(work: Path, program: Program) -> None:
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> graph {GAIN}')
    onnx.save(model, "gain.onnx")
    Path("edgec.toml").write_text('[build]\nprecision = "fp32"\nconstant = { mode = 2 }\n')
    assert program("build", "-q", "gain.onnx", "-o", "out", *QUICK).code == 0
    x = np.array([[0, 1, -1, 2]], np.float32)
    np.testing.assert_allclose(edgec.run("out", {"x": x})["y"], np.exp(x), rtol=1e-5)
    package = edgec.build("gain.onnx", precision="fp32", out="other", constant={"mode": 3}, target="portable", cc="gcc -O0")
    np.testing.assert_array_equal(edgec.run(package, {"x": x})["y"], -x)
    assert edgec.compare("gain.onnx", package, {"x": x}).outputs


def test_what_cannot_be_read_is_told(work: Path, program: Program) -> None:
    program("inspect", "digits.onnx", "--constant", "image").failed(2, "--constant", "NAME=16000")
    program("inspect", "digits.onnx", "--constant", "image=one").failed(2, "--constant")
    program("inspect", "digits.onnx", "--output", "a9").failed(2, "--output a9", "no such tensor")
    program("inspect", "digits.onnx", "--input", "s3=1,2").failed(2, "the model has [N,32,4,4] there")
