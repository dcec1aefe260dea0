"""What ONNX Runtime cannot open or run, or answers differently, is an error about the model that names the node."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import parser

from edgec.base.errors import ModelError
from edgec.exam.reference import FloatModel
from edgec.export.runtime import Effort, Session
from edgec.ir.text import loads

X = np.ones((2, 3), np.float32)


def model(text: str) -> bytes:
    return bytes(parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> g {text}').SerializeToString())


def test_what_it_does_not_take(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ModelError, match=r"^odd: ONNX Runtime does not take the model: .*tensor\(bool\)"):
        Session(model("(bool[2,3] x) => (bool[2,3] y) { [odd] y = Relu(x) }"), Effort.ALL)
    with pytest.raises(ModelError, match="does not take the model"):
        Session(b"no model", Effort.NONE)
    assert capfd.readouterr() == ("", "")


def test_what_it_cannot_run(capfd: pytest.CaptureFixture[str]) -> None:
    run = Session(model("(float[2,3] x, int64[1] i) => (float[1,3] y) { [far] y = Gather(x, i) }"), Effort.ALL)
    with pytest.raises(ModelError, match=r"^far: ONNX Runtime cannot run the model: .*out of data bounds"):
        run(["y"], {"x": X, "i": np.array([7])})
    assert run(["y"], {"x": X, "i": np.array([1])})[0].shape == (1, 3)
    assert capfd.readouterr() == ("", "")


def test_an_answer_of_another_type(tmp_path: Path) -> None:
    graph = loads("graph g\ninput %x: float32[2,3]\n%y: float32[2,3] = Relu(%x)\noutput %y\n")
    (tmp_path / "m.onnx").write_bytes(model("(float[2,3] x) => (float[3,2] y) { y = Transpose(x) }"))
    with pytest.raises(ModelError, match=r"output y: ONNX Runtime computes float32\[3,2\], edgec float32\[2,3\]"):
        FloatModel(graph, tmp_path / "m.onnx")({"x": X})
    assert FloatModel(graph)({"x": X})[0].shape == (2, 3)


def test_a_file_that_it_does_not_take_is_computed_from_the_graph(tmp_path: Path) -> None:
    graph = loads("graph g\ninput %x: float32[2,3]\n%y: float32[2,3] = Relu(%x)\noutput %y\n")
    (tmp_path / "m.onnx").write_bytes(model("(float[2,3] x) => (float[2,3] y) { y = com.nobody.Relu(x) }"))
    run = FloatModel(graph, tmp_path / "m.onnx")
    assert not run.from_file and (run({"x": -X})[0] == 0).all()


def test_float_weights_stay_float_between_values_that_are_stored() -> None:
    """Where a model leaves a layer in float, its weights are not rounded behind its back."""
    text = """(float[1,2,1,1] x) => (float[1,1,1,1] y)
        <float s = {0.01}, uint8 z = {128}, float[1,2,1,1] w = {100.0, 0.1}, float[1] b = {0.0}> {
        a = QuantizeLinear(x, s, z)
        c = DequantizeLinear(a, s, z)
        [plain] d = Conv(c, w, b)
        e = QuantizeLinear(d, s, z)
        y = DequantizeLinear(e, s, z)
    }"""
    run = Session(model(text), Effort.ALL)
    assert run(["y"], {"x": np.array([0, 1], np.float32).reshape(1, 2, 1, 1)})[0].item() == pytest.approx(0.1, abs=1e-3)


@pytest.mark.parametrize("effort", Effort)
def test_a_turned_matrix_times_a_vector(effort: Effort) -> None:
    """Fused, this would be the product with the matrix as it was."""
    matrix, vector = np.arange(9, dtype=np.float32).reshape(3, 3), np.array([1, 2, 4], np.float32)
    text = "(float[3,3] x, float[3] v) => (float[3] y) { t = Transpose<perm = [1, 0]>(x) y = MatMul(t, v) }"
    (found,) = Session(model(text), effort)(["y"], {"x": matrix, "v": vector})
    np.testing.assert_array_equal(found, matrix.T @ vector)


TURNED = (
    "(float[3,2] x, float[4,3] w) => (%s) { t = Transpose<perm = [1, 0]>(x) y = Gemm<transB = 1>(t, w) u = Transpose<perm = [1, 0]>(y) }"
)


@pytest.mark.parametrize("effort", Effort)
def test_an_output_that_an_optimizer_loses(effort: Effort, capfd: pytest.CaptureFixture[str]) -> None:
    """Both transpositions become part of the product, and the first of them, which is looked at, would be gone."""
    matrix, weights = np.arange(6, dtype=np.float32).reshape(3, 2), np.arange(12, dtype=np.float32).reshape(4, 3)
    turned, product = Session(model(TURNED % "t, u"), effort)(["t", "u"], {"x": matrix, "w": weights})
    np.testing.assert_array_equal(turned, matrix.T)
    np.testing.assert_array_equal(product, weights @ matrix)
    assert capfd.readouterr() == ("", "")


def test_a_file_with_such_an_output_is_what_runs(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(model(TURNED % "t"))
    graph = loads("graph g\ninput %x: float32[3,2]\ninput %w: float32[4,3]\n%t: float32[2,3] = Transpose(%x) {perm=[1, 0]}\noutput %t\n")
    assert FloatModel(graph, tmp_path / "m.onnx").from_file


def test_a_node_that_an_optimizer_makes_and_refuses() -> None:
    """Its pooling of codes knows no dilations."""
    text = """(float[1,1,5,1] x) => (float[1,1,3,1] y) <float s = {0.5}, uint8 z = {128}> {
        a = QuantizeLinear(x, s, z)
        c = DequantizeLinear(a, s, z)
        p = AveragePool<kernel_shape = [2, 1], dilations = [2, 1]>(c)
        e = QuantizeLinear(p, s, z)
        y = DequantizeLinear(e, s, z)
    }"""
    run = Session(model(text), Effort.ALL)
    found = run(["y"], {"x": np.arange(5, dtype=np.float32).reshape(1, 1, 5, 1)})
    np.testing.assert_array_equal(found[0].reshape(-1), [1, 2, 3])
