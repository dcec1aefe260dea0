"""Models that ONNX Runtime does not survive, or reads otherwise than the standard: compared with the imported graph in its stead."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, parser

import edgec
from edgec.pipeline.models import read_model, reference_of
from edgec.settings.config import BuildConfig

HEADER = '<ir_version: 9, opset_import: ["": 21]> g '
NORM = f'{HEADER} (float[2,4] x) => (float[2,4] y) <float[4] s = {{1,2,3,4}}> {{ [n] y = LayerNormalization(x, s, "") }}'
BRANCH = f"""{HEADER} (float[2,4] x) => (float[2,4] y) <float[4] s = {{1,2,3,4}}, bool c = {{1}}> {{ [i] y = If(c) <
    then_branch = t () => (float[2,4] a) {{ [n] a = LayerNormalization(x, s, "") }},
    else_branch = e () => (float[2,4] b) {{ b = Relu(x) }} > }}"""
AVERAGE = "AveragePool<dilations = [2,1], kernel_shape = [3,3], strides = [2,1]"
POOL = f'{HEADER} (float[1,1,7,9] x) => (y) {{ [n] y = {AVERAGE}, auto_pad = "SAME_LOWER">(x) }}'
PADDED = f"{HEADER} (float[1,1,7,9] x) => (y) {{ [n] y = {AVERAGE}, pads = [2,1,2,1]>(x) }}"
MEAN = f"{HEADER} (float[1,3,2,1] x) => (y) {{ [n] y = MeanVarianceNormalization<axes = [1]>(x) }}"


def answer(path: Path, x: np.ndarray) -> np.ndarray:
    config = BuildConfig(target="portable", precision="fp32")
    loaded = read_model(path, config)
    assert bool(loaded.misread) == (path.stem != "plain")
    assert any("ONNX Runtime misreads n" in note for note in loaded.notes) == bool(loaded.misread)
    return reference_of(loaded, config)({"x": x})[0]


def write(path: Path, text: str) -> Path:
    onnx.save(parser.parse_model(text), path)
    return path


@pytest.mark.parametrize("text", [NORM, BRANCH])
def test_a_bias_that_an_empty_name_leaves_out(tmp_path: Path, text: str) -> None:
    x = np.array([[1, 2, 3, 5], [-4, 0, 0, 9]], np.float32)
    centered = x - x.mean(axis=1, keepdims=True)
    expected = centered / np.sqrt((centered**2).mean(axis=1, keepdims=True) + 1e-5) * [1, 2, 3, 4]
    assert answer(path := write(tmp_path / "model.onnx", text), x) == pytest.approx(expected, abs=1e-5)
    assert edgec.build(path, target="portable", precision="fp32", out=tmp_path / "out", cc="gcc -O0").examined


def test_automatic_padding_of_dilated_averages(tmp_path: Path) -> None:
    x = np.random.default_rng(1).standard_normal((1, 1, 7, 9)).astype(np.float32)
    expected = answer(write(tmp_path / "plain.onnx", PADDED), x)
    assert (answer(write(tmp_path / "model.onnx", POOL), x) == expected).all() and expected.shape == (1, 1, 4, 9)


def test_a_variance_of_nothing(tmp_path: Path) -> None:
    x = np.array([[7, 1], [7, -2], [7, 4]], np.float32).reshape(1, 3, 2, 1)
    expected = np.stack([np.zeros(3), np.array([0, -3, 3]) / np.sqrt(6)], axis=1).reshape(x.shape)
    assert answer(path := write(tmp_path / "model.onnx", MEAN), x) == pytest.approx(expected, abs=1e-6)
    assert edgec.build(path, target="portable", precision="fp32", out=tmp_path / "out", cc="gcc -O0").examined


@pytest.mark.parametrize("where", ["constant", "computed", "attribute"])
def test_no_axes_to_squeeze(tmp_path: Path, where: str) -> None:
    """The standard takes none away, ONNX Runtime all."""
    version, nodes = {
        "constant": (21, "[n] y = Squeeze(x, none)"),
        "computed": (21, "s = Shape(x) e = Slice(s, zero, zero) [n] y = Squeeze(x, e)"),
        "attribute": (11, "[n] y = Squeeze<axes: ints = []>(x)"),
    }[where]
    known = "int64[0] none = {}, int64[1] zero = {0}"
    text = f'<ir_version: 9, opset_import: ["": {version}]> g (float[1,3,1] x) => (y) <{known}> {{ {nodes} }}'
    x = np.array([7, 1, 2], np.float32).reshape(1, 3, 1)
    assert (answer(write(tmp_path / "model.onnx", text), x) == x).all()
    assert edgec.build(tmp_path / "model.onnx", target="portable", precision="fp32", out=tmp_path / "out", cc="gcc -O0").examined


def test_an_axis_of_a_transform_that_an_empty_name_leaves_out(tmp_path: Path) -> None:
    """In a process of its own it would end that."""
    x = np.random.default_rng(2).standard_normal((1, 4, 2)).astype(np.float32)
    path = write(tmp_path / "model.onnx", f'{HEADER} (float[1,4,2] x) => (y) {{ [n] y = DFT(x, "", "") }}')
    expected = np.fft.fft(x[..., 0] + 1j * x[..., 1])
    assert answer(path, x) == pytest.approx(np.stack([expected.real, expected.imag], -1), abs=1e-5)


def test_steps_over_more_than_a_window(tmp_path: Path) -> None:
    """Automatic padding makes as many times the extent of them; ONNX Runtime ends with the last window."""
    nodes = '[n] y = ConvTranspose<auto_pad = "SAME_UPPER", strides = [4]>(x, w)'
    path = write(tmp_path / "model.onnx", f"{HEADER} (float[1,1,2] x) => (y) <float[1,1,3] w = {{1,2,3}}> {{ {nodes} }}")
    assert answer(path, np.array([[[1, 10]]], np.float32)).tolist() == [[[1, 2, 3, 0, 10, 20, 30, 0]]]


@pytest.mark.parametrize(("op", "of_nothing"), [("ReduceSum", 0), ("ReduceMax", -np.inf), ("ReduceProd", 1)])
def test_an_empty_axis_counted_from_the_end(tmp_path: Path, op: str, of_nothing: float) -> None:
    """ONNX Runtime leaves it as it is."""
    nodes = f"[n] r = {op}(e, a) y = Max(r, x)"
    text = f"{HEADER} (float[2,1,1] x) => (y) <float[2,0,1] e = {{}}, int64[1] a = {{-2}}> {{ {nodes} }}"
    x = np.array([-7, 3], np.float32).reshape(2, 1, 1)
    assert (answer(write(tmp_path / "model.onnx", text), x) == np.maximum(x, of_nothing)).all()


@pytest.mark.parametrize("count", [10, 10_001])
def test_a_crowd_of_initializers_that_nothing_reads_is_not_given_to_onnx_runtime(count: int, tmp_path: Path) -> None:
    model = parser.parse_model(f"{HEADER} (float[2] x) => (y) <float[2] w = {{1, 2}}> {{ y = Add(x, w) }}")
    model.graph.initializer.extend(helper.make_tensor(f"idle{number}", onnx.TensorProto.FLOAT, [1], [0.0]) for number in range(count))
    onnx.save(model, tmp_path / "crowd.onnx")
    config = BuildConfig(target="portable", precision="fp32")
    loaded = read_model(tmp_path / "crowd.onnx", config)
    assert any("nothing reads 10,001 initializers" in note for note in loaded.notes) == (count > 10_000)
    asked = reference_of(loaded, config)
    assert asked.from_file == (count == 10) and asked({"x": np.ones(2, np.float32)})[0].tolist() == [2, 3]


@pytest.mark.parametrize(("count", "strange"), [(1, False), (2, True)])
def test_one_of_the_largest_is_in_any_order(count: int, strange: bool, tmp_path: Path) -> None:
    text = f"{HEADER} (float[1,5] x) => (y) <int64[1] k = {{{count}}}> {{ [n] y, i = TopK<sorted = 0>(x, k) }}"
    assert bool(read_model(write(tmp_path / "top.onnx", text), BuildConfig(target="portable", precision="fp32")).misread) == strange
