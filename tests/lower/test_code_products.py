"""Products of codes whose zero point a run finds: kernels of 8 bits compute them, and quantization by what numbers are is one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.ir.types import Symbol
from edgec.kernels import ConvFloat, ConvInt8Float
from edgec.kernels.matrix_int8 import input_multiple
from edgec.lower import lower
from edgec.passes import optimize
from edgec.program.expr import bound
from edgec.program.memory import unproven
from edgec.program.program import Kind, LoopCall, Program, TemplateCall
from edgec.schedule import schedule
from edgec.targets import load_target
from tests.lower.interpreter import run
from tests.operators.case import Case, difference
from tests.operators.code_cases import code_cases
from tests.oracle.models import Builder, run_onnxruntime

TARGETS = [load_target("x86-64"), load_target("linux-arm64")]
CASES = {case.name: case for case in code_cases()}
PRODUCTS = [name for name in CASES if "quantized" not in name]


def program_of(case: Case, target: Any) -> tuple[Graph, Program]:
    graph = from_proto(case.model).graph
    optimize(graph)
    return graph, schedule(lower(graph, target, "net"), target)


def kernels(program: Program) -> list[type]:
    return [type(call.arguments) for call in program.calls if isinstance(call, TemplateCall)]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize("name", CASES)
def test_what_a_run_finds(name: str, target: Any) -> None:
    graph, program = program_of(CASES[name], target)
    found = run(program, CASES[name].inputs, multiple=input_multiple(target.vocabularies))
    assert difference(CASES[name], [found[output] for output in graph.outputs]) == ""


@pytest.mark.parametrize("name", PRODUCTS)
def test_weights_of_products_have_8_bits(name: str) -> None:
    _, program = program_of(CASES[name], TARGETS[0])
    found = kernels(program)
    if "groups" in name:  # as floats
        assert ConvInt8Float not in found
        return
    assert set(found) == {ConvInt8Float} and len(found) == (1 if "long" not in name else len(found))
    assert len(found) > 1 or "long" not in name
    wide = [buffer.data for buffer in program.buffers.values() if buffer.kind is Kind.CONSTANT and buffer.dtype.bytes == 4]
    weights = int(np.prod(CASES[name].model.graph.initializer[0].dims))
    assert max((data.size for data in wide if data is not None), default=0) < max(weights, 70)


def test_both_ends_of_all_numbers_are_found_in_one_pass() -> None:
    _, program = program_of(CASES["codes_dynamic"], TARGETS[0])
    ends = [call for call in program.calls if isinstance(call, LoopCall) and "Reduce" in call.call.comment[0]]
    assert len(ends) == 1 and "ReduceMin" in ends[0].call.comment[0] and "ReduceMax" in ends[0].call.comment[0]


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
@pytest.mark.parametrize("shape", [(1,), (1, 1, 1), (2, 3, 4, 5)])
def test_what_all_numbers_are_is_found_in_any_shape(shape: tuple[int, ...], target: Any) -> None:
    """Also behind a convolution, whose result lies otherwise in memory."""
    b, x = Builder(), np.random.default_rng(3).normal(0, 2, shape).astype(np.float32)
    y = b.op("Conv", "x", b.const(np.random.default_rng(4).normal(0, 1, (6, 3, 1, 1)), np.float32)) if len(shape) == 4 else "x"
    b.nodes.append(helper.make_node("DynamicQuantizeLinear", [y], ["q", "s", "z"]))
    model = b.model({"x": x}, {"q": np.uint8, "s": np.float32, "z": np.uint8})
    graph = from_proto(model).graph
    optimize(graph)
    program = schedule(lower(graph, target, "net"), target)
    assert not any(any(unproven(program, call)) for call in program.calls)
    found = run(program, {"x": x}, multiple=input_multiple(target.vocabularies))
    numbers = run_onnxruntime(model, {"x": x})
    assert np.abs(found["q"].astype(int) - numbers[0]).max() <= (len(shape) == 4) and found["z"] == numbers[2]
    np.testing.assert_allclose(found["s"], numbers[1], rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in CASES if "window" in name and "groups" not in name])
def test_windows_are_no_rows_of_a_matrix(name: str) -> None:
    """Where they are padded their image is all that is stored before the product."""
    case = CASES[name]
    _, program = program_of(case, TARGETS[0])
    (product,) = [place for place, one in enumerate(program.calls) if isinstance(one, TemplateCall)]
    stored = [program.buffers[name] for one in program.calls[:product] for name in one.call.writes]
    image = 4 * case.inputs["x"].size  # with what is around it
    call = program.calls[product]
    assert isinstance(call, TemplateCall) and isinstance(call.arguments, ConvInt8Float)
    kernel, rank = (call.arguments.window.kernel_height, call.arguments.window.kernel_width), case.inputs["x"].ndim - 2
    assert kernel[-rank:] == tuple(case.model.graph.initializer[0].dims[2:])
    assert all(bound(buffer.size) < image for buffer in stored)


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_batch_that_a_run_knows(target: Any) -> None:
    b, rng = Builder(), np.random.default_rng(5)
    y = b.op("MatMulInteger", "x", b.const(rng.integers(-128, 128, (20, 18)), np.int8), "z")
    zero = np.array(77, np.uint8)
    model = b.model({"x": np.zeros((1, 5, 20), np.uint8), "z": zero}, {y: np.int32})
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    graph = from_proto(model, shapes={"x": [Symbol("batch", 4), 5, 20]}).graph
    optimize(graph)
    program = schedule(lower(graph, target, "net"), target)
    assert kernels(program) == [ConvInt8Float]
    for batch in (1, 3, 4):
        inputs = {"x": rng.integers(0, 256, (batch, 5, 20)).astype(np.uint8), "z": zero}
        found = run(program, inputs, {"batch": batch}, multiple=input_multiple(target.vocabularies))
        np.testing.assert_array_equal(found[y], run_onnxruntime(model, inputs)[0])


def test_numbers_that_are_no_codes_stay_a_float_product() -> None:
    b = Builder()
    whole = b.op("Cast", "x", to=TensorProto.INT32)
    y = b.op("MatMul", b.op("Sub", whole, b.op("Cast", "z", to=TensorProto.INT32)), b.const(np.full((8, 4), 7), np.int32))
    y = b.op("Add", y, b.op("MatMul", b.op("Mul", whole, whole), b.const(np.full((8, 4), 7), np.int32)))
    graph = from_proto(b.model({"x": np.zeros((3, 8), np.int8), "z": np.zeros((3, 8), np.int8)}, {y: np.int32})).graph
    optimize(graph)
    assert kernels(lower(graph, TARGETS[0], "net")) == [ConvFloat]  # of the first one; squares are larger than is known here
