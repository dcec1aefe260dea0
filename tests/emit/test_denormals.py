"""Float loops keep numbers below 2^-126 on ARMv7, whose NEON registers flush them: the bytes of edgec.oracle, from gcc and from clang."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgec import oracle
from edgec.emit import ExamData
from edgec.emit.calls import is_float_island
from edgec.frontend import from_proto
from edgec.ir.types import DType
from edgec.lower import lower
from edgec.lower.plan import plan
from edgec.program.program import Program
from edgec.schedule import schedule
from edgec.targets import load_target
from edgec.toolchain import compile_package, run_exam
from tests.emit.packages import write_package
from tests.emit.programs import FLOAT, INT, For, Kind, Store, const, ex, i, load, loop, port, small_program

TARGET = "rpi-32bit"
COMPILERS = {"gcc": "arm-linux-gnueabihf-gcc", "clang": "clang --target=arm-linux-gnueabihf"}
SHAPE = (1024, 4)
TINY = 2.0**-126  # the smallest normal number


def constant(name: str, value: object) -> onnx.TensorProto:
    return numpy_helper.from_array(np.asarray(value), name)


FACTORS = constant("factors", np.array([0.37, 1.5, 0.25, 3.0], np.float32))


def model(nodes: list[onnx.NodeProto], inputs: list[str], outputs: dict[str, int], constants: list[onnx.TensorProto]) -> onnx.ModelProto:
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in inputs]
    results = [helper.make_tensor_value_info(name, kind, SHAPE) for name, kind in outputs.items()]
    graph = helper.make_graph(nodes, "denormals", given, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def elementwise() -> onnx.ModelProto:
    """Arithmetic on rows of four, and comparisons alone, which clang takes for safe to vectorize."""
    nodes = [
        helper.make_node("Mul", ["a", "factors"], ["product"]),
        helper.make_node("Max", ["a", "b"], ["y"]),
        helper.make_node("Tanh", ["product"], ["tanh"]),
        helper.make_node("Add", ["tanh", "product"], ["z"]),
    ]
    return model(nodes, ["a", "b"], {"y": TensorProto.FLOAT, "z": TensorProto.FLOAT}, [FACTORS])


def island() -> onnx.ModelProto:
    """A quotient, which no integer pattern covers, between codes; one of its operands has the smallest scale there is."""
    zero = constant("zero", np.uint8(3))
    constants = [constant("tiny", np.float32(TINY)), constant("one", np.float32(1)), zero, FACTORS]
    nodes = []
    for name, scale in (("a", "tiny"), ("b", "one")):
        nodes.append(helper.make_node("QuantizeLinear", [name, scale, "zero"], [f"{name}_q"]))
        nodes.append(helper.make_node("DequantizeLinear", [f"{name}_q", scale, "zero"], [f"{name}_d"]))
    nodes += [
        helper.make_node("Add", ["b_d", "factors"], ["divisor"]),
        helper.make_node("Div", ["a_d", "divisor"], ["quotient"]),
        helper.make_node("Max", ["quotient", "a"], ["y"]),
        helper.make_node("QuantizeLinear", ["y", "tiny", "zero"], ["q"]),
    ]
    return model(nodes, ["a", "b"], {"y": TensorProto.FLOAT, "q": TensorProto.UINT8}, constants)


MODELS = {"elementwise": elementwise, "island": island}


def questions(seed: int) -> dict[str, np.ndarray]:
    """Numbers around the smallest normal one, most of them below."""
    generator = np.random.default_rng(seed)
    return {name: (generator.standard_normal(SHAPE) * TINY * np.exp2(generator.integers(-8, 8, SHAPE))).astype(np.float32) for name in "ab"}


def exam_of(proto: onnx.ModelProto) -> ExamData:
    inputs = [questions(seed) for seed in range(2)]
    outputs = [oracle.run(proto, given) for given in inputs]
    return ExamData(inputs, outputs, {item.name: True for item in proto.graph.output})


def program_of(name: str) -> Program:
    target = load_target(TARGET)
    program = schedule(lower(from_proto(MODELS[name]()).graph, target, "denormals"), target)
    plan(program)
    return program


@pytest.mark.parametrize("name", MODELS)
def test_the_questions_have_denormal_answers(name: str) -> None:
    floats = np.concatenate([answer["y"] for answer in exam_of(MODELS[name]()).outputs])
    assert ((floats != 0) & (np.abs(floats) < TINY)).sum() > SHAPE[0]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", MODELS)
def test_denormals_survive_on_armv7(tmp_path: Path, needs, name: str, compiler: str) -> None:
    target = load_target(TARGET)
    needs(COMPILERS[compiler].split()[0], COMPILERS["gcc"], target.emulator[0])
    folder = write_package(tmp_path / name, program_of(name), target, exam_of(MODELS[name]()))
    built = compile_package(folder, target, COMPILERS[compiler], "-O3")
    done = run_exam(built, target, ["--json"])
    assert done.returncode == 0, done.stdout + done.stderr


def half_program() -> Program:
    """codes * 0.5, rounded."""
    program = Program("half", TARGET)
    port(program, "x", DType.INT8, (8,), Kind.INPUT)
    port(program, "y", DType.INT8, (8,), Kind.OUTPUT)
    halved = ex.unary("rint", ex.cast(ex.cast(load("x", i, DType.INT8), INT), FLOAT) * 0.5)
    loop(program, "halve", (For(i, const(8), (Store("y", i, ex.cast(ex.cast(halved, INT), DType.INT8)),)),), ("x",), ("y",))
    plan(program)
    return program


def test_loops_between_codes_may_still_be_vectorized() -> None:
    """Only what touches float memory is an island: not a Concat that requantizes, whose floats are normal."""
    program = small_program()
    assert {call.call.name: is_float_island(program, call) for call in program.calls} == {
        "affine": True, "quantize": True, "look_up": False, "neighbour_maximum": True, "row_sum": True,
    }  # fmt: skip
    codes = half_program()
    assert not any(is_float_island(codes, call) for call in codes.calls)
