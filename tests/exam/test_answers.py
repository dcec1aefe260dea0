"""Which answers an exam asks for, and what they may be off by, in odd cases."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper, parser
from onnxruntime.quantization import QuantType, quantize_dynamic

import edgec
from edgec.apps.app import App, tensors
from edgec.apps.wheel import exam_of
from edgec.base.errors import UsageError
from edgec.exam.expected import FLOAT_TOLERANCE, GPU_HALVES, HALVES, NOISE_FACTOR, USELESS, Asked, ask, invented_tolerance, write_exam
from edgec.exam.reference import FloatModel
from edgec.exam.saturated import LEAST, least_numbers
from edgec.frontend import from_proto
from edgec.lower import lower
from edgec.lower.plan import plan
from edgec.passes import optimize
from edgec.schedule import schedule
from edgec.targets import load_target
from edgec.toolchain import compile_package
from tests.conftest import require
from tests.contract.examiner import STRICT
from tests.emit.packages import HOST, write_package

TEXT = """<ir_version: 9, opset_import: ["": 21, "com.microsoft": 1]>
    folded (float[4] v) => (r, y) <uint8[1,4] x = {52,192,225,33}, float s = {0.0625}, uint8 z = {0}, float t = {0.019849159},
    uint8 u = {128}> { r = Relu(v) y = com.microsoft.QLinearSoftmax<axis = -1, opset = 13>(x, s, z, t, u) }"""


LANES = """<ir_version: 9, opset_import: ["": 21]> lanes (float[1,2,4,4] x) => (float[1,2,4,4] y)
    <float[2] s = {0.02, 0.03}, uint8[2] z = {128, 120}, int8[2,2,1,1] k = {90, -40, 20, 70}, float t = {0.01}, int8 n = {0},
    float r = {0.05}, uint8 u = {128}> {
    c = QuantizeLinear<axis = 1>(x, s, z) d = DequantizeLinear<axis = 1>(c, s, z) w = DequantizeLinear(k, t, n)
    p = Conv(d, w) q = QuantizeLinear(p, r, u) y = DequantizeLinear(q, r, u) }"""


def test_what_onnx_runtime_fuses_and_cannot_run_answers_unfused() -> None:
    """It makes one integer operator of a convolution of codes with a scale for each channel, and has none such."""
    model = parser.parse_model(LANES)
    x = {"x": np.linspace(-2, 2, 32, dtype=np.float32).reshape(1, 2, 4, 4)}
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.Fail, match="zero point must be a scalar"):
        onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, x)
    run = FloatModel(from_proto(model).graph)
    (found,), (wanted,) = run(x), FloatModel(from_proto(model).graph, optimize=False)(x)
    assert (found == wanted).all() and found.std() > 0.1 and (run(x)[0] == found).all()


def test_codes_that_were_folded_are_asked_for_as_each_operator_rounds_them(tmp_path: Path) -> None:
    """ONNX Runtime's own operator rounds one of them otherwise."""
    model, file = parser.parse_model(TEXT), tmp_path / "folded.onnx"
    onnx.save(model, file)
    original, graph, target = from_proto(model).graph, from_proto(model).graph, load_target("x86-64")
    optimize(graph)
    program = schedule(lower(graph, target, "folded"), target)
    reference = FloatModel(original, file)
    answer, *_ = write_exam(original, graph, program, None, 0, asked=ask(original, None, 0, reference)).outputs
    v = {"v": np.ones(4, np.float32)}
    assert reference.from_file
    assert np.any(reference(v)[1] != answer["y"])
    np.testing.assert_array_equal(answer["y"], FloatModel(graph)(v)[1])


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_products_of_given_codes_are_asked_of_the_evaluator(precision: str, tmp_path: Path) -> None:
    """Their float biases are whole numbers in the package, and far from those of ONNX Runtime where scales are large."""
    text = """<ir_version: 9, opset_import: ["": 21]> given (uint8[1,4] x) => (y)
    <int8[4,2] w = {1, -2, 3, 1, 1, 2, -1, 0}, float s = {0.5}, float t = {0.25}, uint8 z = {128}, float[2] b = {0.06, -0.05}>
    { v = DequantizeLinear(x, s, z) u = DequantizeLinear(w, t) g = Gemm(v, u, b) y = HardSwish(g) }"""
    onnx.save(parser.parse_model(text), tmp_path / "given.onnx")
    x = np.uint8([[128, 129, 128, 127]])
    np.savez(tmp_path / "samples.npz", x=x)
    calib = tmp_path / "samples.npz" if precision == "int8" else None
    package = edgec.build(tmp_path / "given.onnx", precision=precision, calib=calib, target="portable", out=tmp_path / "given", cc="cc -O0")
    with package.load() as run:
        (y,) = run({"x": x})
    v = np.float32([[0, 0.5, 0, -0.5]]) @ np.float32([[0.25, -0.5], [0.75, 0.25], [0.25, 0.5], [-0.25, 0]])
    np.testing.assert_allclose(y, v * np.clip(v / 6 + 0.5, 0, 1), rtol=1e-6)


def test_an_exact_answer_that_is_no_number_need_not_have_its_bits(tmp_path: Path) -> None:
    """The sign of NaN is another one with other compilers and instructions."""
    text = """<ir_version: 9, opset_import: ["": 21]> signs (float[1,4] x) => (y, z) <float s = {0.5}, uint8 z0 = {128}>
    { q = QuantizeLinear(x, s, z0) v = DequantizeLinear(q, s, z0) y = Asin(v) z = Abs(v) }"""
    onnx.save(parser.parse_model(text), tmp_path / "signs.onnx")
    np.savez(tmp_path / "samples.npz", x=np.float32([[2, -2, 0.5, 1]]))
    settings = {"precision": "int8", "calib": tmp_path / "samples.npz", "target": "host", "cc": "cc -O0"}
    package = edgec.build(tmp_path / "signs.onnx", out=tmp_path / "signs", **settings)
    outputs = package.examine()["vectors"][0]["outputs"]
    assert [output["exact"] for output in outputs] == [False, True]


@pytest.mark.filterwarnings("error")
def test_halves_that_are_all_zero_have_a_tolerance() -> None:
    """They have no number as small as what guards the quotient."""
    text = '<ir_version: 9, opset_import: ["": 21]> zeros (float[4] v) => (r, h) <float16[2] c = {1, 2}> { r = Relu(v) h = Sub(c, c) }'
    model, target = parser.parse_model(text), load_target("x86-64")
    original, graph = from_proto(model).graph, from_proto(model).graph
    optimize(graph)
    exam = write_exam(original, graph, schedule(lower(graph, target, "zeros"), target), None, 0)
    assert exam.tolerance == FLOAT_TOLERANCE


@pytest.mark.filterwarnings("error")
def test_numbers_beside_nan_may_be_off_as_far_as_rounding_moves_them() -> None:
    """A sine of large sums is as good as no number; where it is negative it has no root."""
    weights = np.random.default_rng(0).standard_normal(64).round(3)
    text = f"""<ir_version: 9, opset_import: ["": 21]> roots (float[1,8] x) => (y, r)
    <float c = {{1e4}}, float[8,8] w = {{{",".join(map(str, weights))}}}, float s = {{0.05}}, uint8 z = {{128}}>
    {{ a = MatMul(x, w) b = Mul(a, c) d = Sin(b) y = Sqrt(d) q = QuantizeLinear(x, s, z) r = DequantizeLinear(q, s, z) }}"""
    model, target = parser.parse_model(text), load_target("x86-64")
    original, graph = from_proto(model).graph, from_proto(model).graph
    optimize(graph)
    exam = write_exam(original, graph, schedule(lower(graph, target, "roots"), target), None, 0)
    assert all(np.isnan(answer["y"]).any() and np.isfinite(answer["y"]).any() for answer in exam.outputs)
    assert min(exam.on_cpu) > FLOAT_TOLERANCE


@pytest.mark.parametrize("flag", [HALVES, GPU_HALVES])
def test_integers_are_asked_for_only_where_halves_leave_them(flag: str) -> None:
    """Which of two numbers is the larger, in 64 places: of one question surely, of another by a hair."""
    text = """<ir_version: 9, opset_import: ["": 21]> largest (float[64,2] x) => (int64[64] y)
    <float[2,2] w = {1, 0.01, 0.01, 1}> { a = MatMul(x, w) y = ArgMax<axis = 1, keepdims = 0>(a) }"""
    model, target = parser.parse_model(text), load_target("x86-64")
    original, graph = from_proto(model).graph, from_proto(model).graph
    optimize(graph)
    program = schedule(lower(graph, target, "largest"), target)
    sample = {"x": np.tile(np.float32([0.25, 0.75]), (64, 1))}
    near = {"x": np.tile(np.float32([0.5, 0.50001]), (64, 1))}
    asked = Asked([[near], [sample]], [[FloatModel(original)(near)], [FloatModel(original)(sample)]], 0.0)
    (left,) = write_exam(original, graph, program, None, 0, asked=asked, halves=flag).inputs
    assert np.array_equal(left["x"], sample["x"])
    with pytest.raises(UsageError, match="moves integers that this network answers with \\(y\\)") as raised:
        write_exam(original, graph, program, None, 0, asked=replace(asked, streams=[[near]], answers=asked.answers[:1]), halves=flag)
    assert raised.value.where == flag


@pytest.mark.parametrize(("noise", "moved"), [(0.0, False), (USELESS, True)])
def test_integers_may_be_others_only_where_rounding_moves_all(noise: float, moved: bool, tmp_path: Path) -> None:
    """Everybody who judges an answer takes the same ones for right, of 32 and of 64 bits; truth values are equal anyway."""
    require("gcc")
    text = """<ir_version: 9, opset_import: ["": 21]> sorted (float[4] x) => (int64[4] places, int32[4] whole, bool[4] first)
    <int64[1] k = {4}, int64 zero = {0}>
    { values, places = TopK(x, k) whole = Cast<to = 6>(places) first = Equal(places, zero) }"""
    model = parser.parse_model(text)
    original, graph = from_proto(model).graph, from_proto(model).graph
    optimize(graph)
    program = schedule(lower(graph, HOST, "sorted"), HOST)
    plan(program)
    x = {"x": np.float32([0.25, 4, 3, 2])}
    right = write_exam(original, graph, program, None, 0, asked=Asked([[x]], [[FloatModel(original)(x)]], noise))
    judged = {port.name: right.is_exact(port.name, port.dtype) for port in program.outputs}
    assert judged == {"places": not moved, "whole": not moved, "first": True}
    said, _ = exam_of(App("sorted", "fp32", tensors(program.inputs), tensors(program.outputs), 0, 0, 0), right, "")
    assert ["limit" in output for output in said["vectors"][0]["outputs"]] == [moved, moved, False]
    for name, passes in (("places", moved), ("whole", moved), ("first", False)):
        (answer,) = right.outputs
        other = replace(right, outputs=[{**answer, name: answer[name][::-1]}])
        built = compile_package(write_package(tmp_path / name, program, HOST, other), HOST, "gcc", "-O0", STRICT)
        assert built.exam is not None
        assert subprocess.run([built.exam], check=False, capture_output=True).returncode == (0 if passes else 1)


def test_a_gpu_that_would_never_be_taken_is_refused() -> None:
    """A host asks what it invents, and integers must be equal: the larger of any number and one that is larger by a hair."""
    text = """<ir_version: 9, opset_import: ["": 21]> largest (float[64,1] x) => (int64[64] y)
    <float[1,2] w = {1, 1.0001}> { a = MatMul(x, w) y = ArgMax<axis = 1, keepdims = 0>(a) }"""
    with pytest.raises(UsageError, match="float16 moves integers") as raised:
        invented_tolerance(from_proto(parser.parse_model(text)).graph)
    assert (raised.value.where, raised.value.hint) == (GPU_HALVES, "build with float32")


def test_a_fault_of_the_import_is_no_noise(tmp_path: Path) -> None:
    """The file has another factor than the graph: the tolerance is as if it had not."""
    head, file = '<ir_version: 9, opset_import: ["": 21]> scaled (float[4] v) => (y)', tmp_path / "scaled.onnx"
    right, wrong = (parser.parse_model(f"{head} <float c = {{{factor}}}> {{ y = Mul(v, c) }}") for factor in (2, 3))
    onnx.save(right, file)
    original, graph, target = from_proto(wrong).graph, from_proto(wrong).graph, load_target("x86-64")
    exam = write_exam(
        original, graph, schedule(lower(graph, target, "scaled"), target), None, 0, asked=ask(original, None, 0, FloatModel(original, file))
    )
    assert exam.tolerance == FLOAT_TOLERANCE
    np.testing.assert_array_equal(exam.outputs[0]["y"], 2 * exam.inputs[0]["v"])


SATURATED = """<ir_version: 9, opset_import: ["": 21]> far (float[1,2,8,8] x) => (y, z) <float m = {-30}>
    { h = Add(x, m) s = Sigmoid(h) p = MaxPool<kernel_shape = [2,2]>(s) y = Transpose<perm = [0,2,3,1]>(p) z = Relu(x) }"""


def test_answers_that_are_next_to_nothing_may_be_nothing(tmp_path: Path) -> None:
    """ONNX Runtime's sigmoid is 0 there, and edgec's is not."""
    onnx.save(parser.parse_model(SATURATED), tmp_path / "far.onnx")
    package = edgec.build(tmp_path / "far.onnx", precision="fp32", target="portable", out=tmp_path / "far", cc="cc -O0")
    for vector in package.examine()["vectors"]:
        y, z = vector["outputs"]
        assert y["passed"] and y["difference"] > 1 and z["passed"] and z["difference"] < FLOAT_TOLERANCE
    header = (tmp_path / "far/exam/far_exam.h").read_text()
    limits = re.findall(r"exam_limits.* = \{\n((?: {4}\{.*\},\n)+)", header)[0].splitlines()
    assert [float.fromhex(found) > 1e20 for found in re.findall(r"0x[^,}]+", limits[0])] == [True, False]


def tagger(folder: Path) -> Path:
    """A bidirectional LSTM as ONNX Runtime quantizes it: its inputs and states become codes as they come."""
    g = np.random.default_rng(0)
    sizes = {"w": (2, 96, 16), "r": (2, 96, 24), "b": (2, 192), "m": (48, 10)}
    known = [numpy_helper.from_array((g.standard_normal(size) / size[-1] ** 0.5).astype(np.float32), name) for name, size in sizes.items()]
    text = """<ir_version: 8, opset_import: ["": 17]> tagger (float[12,1,16] x) => (float[12,1,10] z) <int64[3] s = {12,1,48}>
    { t = Tanh(x) y = LSTM<hidden_size = 24, direction = "bidirectional">(t, w, r, b) p = Transpose<perm = [0,2,1,3]>(y)
      q = Reshape(p, s) z = MatMul(q, m) }"""
    model = parser.parse_model(text)
    model.graph.initializer.extend(known)
    onnx.save(model, folder / "float.onnx")
    quantize_dynamic(folder / "float.onnx", folder / "tagger.onnx", weight_type=QuantType.QInt8)
    return folder / "tagger.onnx"


def test_numbers_that_become_codes_on_the_way_may_become_others(tmp_path: Path) -> None:
    """Roundings before them decide between two codes, and what a limit of sums lets through is less than that."""
    file = tagger(tmp_path)
    assert "DynamicQuantizeLSTM" in {node.op_type for node in onnx.load(file).graph.node}
    asked = ask(from_proto(onnx.load(file)).graph, None, 0)
    assert FLOAT_TOLERANCE < NOISE_FACTOR * asked.noise < 0.1
    package = edgec.build(file, precision="fp32", target="portable", out=tmp_path / "tagger", cc="cc -O0")
    x = np.random.default_rng(1).standard_normal((12, 1, 16)).astype(np.float32)
    (expected,) = onnxruntime.InferenceSession(file).run(None, {"x": x})
    with package.load() as run:
        np.testing.assert_allclose(run({"x": x})[0], expected, atol=0.02 * np.abs(expected).max())


def test_other_answers_keep_their_limits() -> None:
    """What is made of sigmoids alone, and is small, is judged as if it were a hundredth; noise does not loosen it."""
    text = SATURATED.replace("{-30}", "{0.25}").replace("(y, z)", "(y, z, l)").replace("z = Relu(x)", "z = Relu(x) l = Log(s)")
    original = from_proto(parser.parse_model(text)).graph
    assert least_numbers(original) == {"y": LEAST}
    target, graph = load_target("portable"), from_proto(parser.parse_model(text)).graph
    exam = write_exam(original, graph, schedule(lower(graph, target, "far"), target), None, 0)
    assert exam.on_cpu == [FLOAT_TOLERANCE] * len(exam.inputs)


def test_one_of_two_sigmoids_is_a_sigmoid() -> None:
    """As of a detector whose second half looks again at what its first half took for a word."""
    text = """<ir_version: 8, opset_import: ["": 17]> chosen (float[1,4] x, bool[1] c) => (float[1,4] y, float[1,4] z)
    { a = Sigmoid(x) n = Neg(x) b = Sigmoid(n) y = Where(c, a, b) z = Where(c, a, x) }"""
    assert least_numbers(from_proto(parser.parse_model(text)).graph) == {"y": LEAST}
