"""Dense layers whose weights stay codes: which do, in how many bits, and what they compute."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgec.frontend import from_proto
from edgec.ir.graph import Graph
from edgec.kernels import ConvFloat, ConvInt8Float, RowsCodes4, RowsCodes8
from edgec.lower import lower
from edgec.passes import optimize
from edgec.passes.codes import decode_weights
from edgec.passes.rewrite import emit
from edgec.program.program import Program, TemplateCall
from edgec.schedule import schedule
from tests.lower.interpreter import run
from tests.lower.test_float import TARGET, close
from tests.passes import compare

K, N = 150, 130
RANGES = {TensorProto.INT4: (-8, 7), TensorProto.UINT4: (0, 15), TensorProto.INT8: (-128, 127), TensorProto.UINT8: (0, 255)}
FORMS = {"matmul": (False, []), "gemm": (True, []), "transposed": (True, ["Transpose"])}  # [N, K], and what turns it back


def coded_layer(
    kind: int, block: int, form: str = "matmul", *, zeros: str = "", rows: int = 1, axis: int | None = None, seed: int = 0
) -> Graph:  # fmt: skip
    """relu(x * dequantize(q, s, z) + b) + r. zeros: "" for none, "all" for the middle of the codes' range, "each" for one a block."""
    rng = np.random.default_rng(seed)
    turned, moves = FORMS[form]
    shape = (N, K) if turned else (K, N)
    inputs = int(turned) if axis is None else axis
    scales = tuple(-(-extent // block) if place == inputs else extent for place, extent in enumerate(shape)) if block else (N,)
    low, high = RANGES[kind]
    codes = rng.integers(low, high, shape, endpoint=True)
    given = {"all": np.full(scales, (low + high + 1) // 2), "each": rng.integers(low, high, scales, endpoint=True)}
    operands = ["q", "s", *(["z"] if zeros else [])]
    known = {"s": rng.uniform(0.01, 0.1, scales).astype(np.float32), "b": rng.standard_normal(N).astype(np.float32)}
    code = helper.tensor_dtype_to_np_dtype(kind)
    known |= {"q": codes.astype(code)} | ({"z": given[zeros].astype(code)} if zeros else {})
    attributes = {"axis": inputs, "block_size": block} if block else {"axis": 1 - inputs}
    nodes = [helper.make_node("DequantizeLinear", operands, ["w"], **attributes)]
    nodes += [helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]) for _ in moves]
    if form == "gemm":
        nodes += [helper.make_node("Gemm", ["x", "w", "b"], ["a"], transB=1)]
    else:
        nodes += [helper.make_node("MatMul", ["x", "t" if moves else "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["a"])]
    nodes += [helper.make_node("Relu", ["a"], ["y"])]
    ports = [helper.make_tensor_value_info(*item) for item in (("x", TensorProto.FLOAT, [rows, K]), ("y", TensorProto.FLOAT, [rows, N]))]
    made = helper.make_graph(nodes, "net", ports[:1], ports[1:], [numpy_helper.from_array(array, name) for name, array in known.items()])
    return from_proto(helper.make_model(made, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)).graph


def lowered(graph: Graph) -> tuple[Program, object]:
    """The optimized graph's Program, whose answers are those of ONNX Runtime on the graph as it was, and its one kernel."""
    x = {"x": np.random.default_rng(1).standard_normal(graph.types["x"].static_shape).astype(np.float32)}
    (wanted,) = compare.run(graph, x)
    optimize(graph)
    program = schedule(lower(graph, TARGET, "net"), TARGET)
    close(run(program, x)["y"], wanted)
    (call,) = program.calls
    assert isinstance(call, TemplateCall)
    return program, call.arguments


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("block", (0, 32, 15))
@pytest.mark.parametrize("zeros", ("", "all", "each"))
def test_codes_of_four_bits_stay_so(form: str, block: int, zeros: str) -> None:
    for kind in (TensorProto.INT4, TensorProto.UINT4):
        _, found = lowered(coded_layer(kind, block, form, zeros=zeros))
        assert isinstance(found, RowsCodes4) and found.group == (block or K) and (found.low, found.high) == (0.0, np.inf)
        symmetric = zeros == "all" or (kind == TensorProto.INT4 and not zeros)
        assert (found.offset is None) == symmetric


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("zeros", ("", "all", "each"))
def test_codes_of_eight_bits(form: str, zeros: str) -> None:
    for kind in (TensorProto.INT8, TensorProto.UINT8):
        for rows in (1, 5):
            _, found = lowered(coded_layer(kind, 0, form, zeros=zeros, rows=rows))
            assert type(found) is RowsCodes8
            assert (found.offset is None) == (zeros == "all" or (kind == TensorProto.INT8 and not zeros))


def test_what_costs_more_than_it_saves_becomes_floats() -> None:
    """Many rows, a scale for each input, blocks of output channels, a GPU."""
    many = coded_layer(TensorProto.INT4, 32, rows=65)
    by_input = coded_layer(TensorProto.INT4, 16, axis=1)
    for graph in (many, by_input):
        _, found = lowered(graph)
        assert isinstance(found, ConvFloat)
    graph = coded_layer(TensorProto.INT4, 32)
    optimize(graph)
    (call,) = lower(graph, dataclasses.replace(TARGET, gpu="vulkan"), "net").calls
    assert isinstance(call, TemplateCall) and isinstance(call.arguments, ConvFloat)


def test_weights_that_quantization_shall_see_become_floats() -> None:
    graph = coded_layer(TensorProto.INT4, 32)
    decode_weights(graph)
    _, found = lowered(graph)
    assert isinstance(found, ConvFloat)


def test_codes_of_quantized_layers_stay_so() -> None:
    """Those of a model.int8.onnx: its layers are computed with codes on both sides, however many rows there are."""
    graph = coded_layer(TensorProto.INT8, 0, "gemm", rows=65)
    (product,) = (node for node in graph.nodes if node.op == "Gemm")
    parameters = [graph.add_constant("scale", np.float32(0.1)), graph.add_constant("zero", np.uint8(128))]
    codes = emit(graph, product, "QuantizeLinear", ["x", *parameters], {"axis": 1}, hint="codes")
    rounded = emit(graph, product, "DequantizeLinear", [codes, *parameters], {"axis": 1}, hint="rounded")
    graph.rewire(product, [rounded, *product.inputs[1:]])
    graph.constants["q"] = np.maximum(graph.constants["q"], -127)  # as kernels of codes take them
    decode_weights(graph)
    optimize(graph)
    kernels = [call.arguments for call in lower(graph, TARGET, "net").calls if isinstance(call, TemplateCall)]
    assert [type(found) for found in kernels] == [ConvInt8Float]


def test_a_residual_is_added_by_the_kernel() -> None:
    rng = np.random.default_rng(0)
    square = rng.integers(-8, 8, (K, K)).astype(np.int8)
    nodes = [
        helper.make_node("Relu", ["x"], ["r"]),
        helper.make_node("DequantizeLinear", ["q", "s"], ["w"], axis=1),
        helper.make_node("MatMul", ["r", "w"], ["p"]),
        helper.make_node("Add", ["p", "r"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, K]) for name in "xy"]
    known = {"q": square, "s": np.full(K, 0.1, np.float32)}
    made = helper.make_graph(nodes, "net", ports[:1], ports[1:], [numpy_helper.from_array(array, name) for name, array in known.items()])
    graph = from_proto(helper.make_model(made, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)).graph
    x = {"x": rng.standard_normal((2, K)).astype(np.float32)}
    (wanted,) = compare.run(graph, x)
    optimize(graph)
    program = schedule(lower(graph, TARGET, "net"), TARGET)
    close(run(program, x)["y"], wanted)
    found = [call.arguments for call in program.calls if isinstance(call, TemplateCall)]
    assert len(found) == 1 and isinstance(found[0], RowsCodes4) and found[0].residual is not None
