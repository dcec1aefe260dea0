"""Constants of four bits, and constants in blocks with a scale each, behind DequantizeLinear."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgec.base.errors import ModelError
from edgec.export import to_onnx
from edgec.export.runtime import Effort, Session
from edgec.frontend import from_proto
from edgec.frontend.load import load_model
from edgec.passes import optimize

from .models import node

RNG = np.random.default_rng(4)
KINDS = {"int4": (TensorProto.INT4, -8, 7), "uint4": (TensorProto.UINT4, 0, 15), "int8": (TensorProto.INT8, -128, 127)}


def coded_product(kind: str, block: int, *, transposed: bool = False, zeros: bool = True, rows: int = 3) -> onnx.ModelProto:
    """x [rows, 50] times dequantized codes [50, 24] (or their transpose, by Gemm); a scale by column, or by block of inputs of a column."""
    code, low, high = KINDS[kind]
    along, shape = (1, (24, 50)) if transposed else (0, (50, 24))
    scales = tuple(-(-extent // block) if axis == along else extent for axis, extent in enumerate(shape)) if block else (24,)

    def tensor(name: str, values: np.ndarray) -> onnx.TensorProto:
        return numpy_helper.from_array(values.astype(helper.tensor_dtype_to_np_dtype(code)), name)

    known = [
        tensor("q", RNG.integers(low, high, shape, endpoint=True)),
        numpy_helper.from_array(RNG.uniform(0.01, 0.1, scales).astype(np.float32), "s"),
        *([tensor("z", RNG.integers(low, high, scales, endpoint=True))] if zeros else []),
    ]
    attributes = {"axis": along, "block_size": block} if block else {"axis": 1 - along}
    nodes = [
        node("DequantizeLinear", "q s z" if zeros else "q s", "w", **attributes),
        node("Gemm", "x w", "y", transB=1) if transposed else node("MatMul", "x w", "y"),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [rows, 50]), ("y", [rows, 24])))
    return helper.make_model(helper.make_graph(nodes, "coded", [x], [y], known), opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def run(proto: onnx.ModelProto, feeds: dict[str, np.ndarray], effort: Effort = Effort.NONE) -> list[np.ndarray]:
    return Session(proto.SerializeToString(), effort)(["y"], feeds)


@pytest.mark.parametrize("block", (0, 16, 32))
@pytest.mark.parametrize("kind", KINDS)
def test_coded_weights_are_what_onnxruntime_reads_of_them(kind: str, block: int) -> None:
    for transposed in (False, True):
        for zeros in (False, True):
            proto = coded_product(kind, block, transposed=transposed, zeros=zeros)
            x = {"x": RNG.standard_normal((3, 50)).astype(np.float32)}
            graph = from_proto(proto).graph
            (expected,), (imported,) = run(proto, x, Effort.ALL), run(to_onnx(graph), x)
            np.testing.assert_allclose(imported, expected, rtol=0, atol=1e-5 * abs(expected).max())
            optimize(graph)
            (optimized,) = run(to_onnx(graph), x)
            np.testing.assert_allclose(optimized, expected, rtol=0, atol=1e-5 * abs(expected).max())


def test_codes_of_four_bits_in_a_file_of_their_own(tmp_path: Path) -> None:
    proto = coded_product("int4", 16)
    inside = from_proto(proto).graph
    onnx.save_model(proto, tmp_path / "m.onnx", save_as_external_data=True, location="m.bin", size_threshold=0)
    outside = load_model(tmp_path / "m.onnx").graph
    assert sorted(inside.constants) == sorted(outside.constants) == ["q", "s", "z"]
    assert all(np.array_equal(inside.constants[name], outside.constants[name]) for name in inside.constants)


def test_codes_of_four_bits_may_be_moved_before_they_are_read() -> None:
    proto = coded_product("uint4", 16)
    proto.graph.node[0].input[0] = "turned"
    proto.graph.initializer[0].dims[:] = [24, 50]
    proto.graph.node.insert(0, node("Transpose", "q", "turned", perm=[1, 0]))
    x = {"x": RNG.standard_normal((3, 50)).astype(np.float32)}
    (expected,), (imported,) = run(proto, x), run(to_onnx(from_proto(proto).graph), x)
    np.testing.assert_allclose(imported, expected, rtol=0, atol=1e-5 * abs(expected).max())


def refusal(proto: onnx.ModelProto) -> str:
    with pytest.raises(ModelError) as caught:
        from_proto(proto)
    return str(caught.value.problems)


def test_what_does_not_fit_is_refused() -> None:
    other_kind = coded_product("int4", 16)
    other_kind.graph.initializer[2].CopyFrom(helper.make_tensor("z", TensorProto.INT8, [4, 24], [0] * 96))
    assert "inputs of different types" in refusal(other_kind)
    odd = coded_product("int4", 16)
    odd.graph.node[0].attribute[1].i = 10  # five blocks, not four
    assert "does not fit blocks of 10 along axis 0" in refusal(odd)
    arithmetic = coded_product("int4", 16)
    arithmetic.graph.node[0].CopyFrom(node("MatMul", "q q", "w"))
    assert "int4" in refusal(arithmetic)


def test_activations_of_four_bits_saturate_at_seven() -> None:
    proto = coded_product("int4", 0)
    proto.graph.node.insert(0, node("DequantizeLinear", "c s0 z0", "r"))
    proto.graph.node.insert(0, node("QuantizeLinear", "x s0 z0", "c"))
    proto.graph.node[3].input[0] = "r"
    proto.graph.initializer.extend([numpy_helper.from_array(np.float32(0.1), "s0"), helper.make_tensor("z0", TensorProto.INT4, [], [0])])
    x = {"x": np.linspace(-2, 2, 150, dtype=np.float32).reshape(3, 50)}
    (wanted,), (found,) = run(proto, x), run(to_onnx(from_proto(proto).graph), x)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def by_bits(bits: int, block: int, *, zeros: bool, bias: bool, level: int = 0) -> onnx.ModelProto:
    """ONNX Runtime's own operator for weights of few bits, K = 50 inputs and N = 24 outputs."""
    rng, blocks = np.random.default_rng(bits * block), -(-50 // block)
    known = {
        "q": rng.integers(0, 256, (24, blocks, block * bits // 8)).astype(np.uint8),
        "s": rng.uniform(0.01, 0.1, 24 * blocks).astype(np.float32),
        "z": rng.integers(0, 256, 24 * -(-blocks * bits // 8)).astype(np.uint8),
        "b": rng.standard_normal(24).astype(np.float32),
    }
    given = ["x", "q", "s", "z" if zeros else "", "", "b" if bias else ""]
    while not given[-1]:
        given.pop()
    made = helper.make_node(
        "MatMulNBits", given, ["y"], "by_bits", domain="com.microsoft", K=50, N=24, bits=bits, block_size=block, accuracy_level=level
    )
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", [3, 50]), ("y", [3, 24])))
    graph = helper.make_graph([made], "bits", [x], [y], [numpy_helper.from_array(known[name], name) for name in given[1:] if name])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize("bits", (4, 8))
@pytest.mark.parametrize("block", (16, 32, 64))
def test_the_operator_of_onnxruntime_for_weights_of_few_bits(bits: int, block: int) -> None:
    for zeros in (False, True):
        for bias in (False, True):
            proto = by_bits(bits, block, zeros=zeros, bias=bias)
            x = {"x": RNG.standard_normal((3, 50)).astype(np.float32)}
            (expected,), (imported,) = run(proto, x), run(to_onnx(from_proto(proto).graph), x)
            np.testing.assert_allclose(imported, expected, rtol=0, atol=1e-5 * abs(expected).max())


def test_onnxruntime_is_not_asked_where_it_rounds_activations() -> None:
    assert [from_proto(by_bits(4, 32, zeros=False, bias=False, level=level)).misread for level in (0, 4)] == [
        (),
        ("by_bits (MatMulNBits)",),
    ]


def test_the_axis_of_a_bias_is_its_only_one() -> None:
    """Some converters give it that of the weights, and ONNX Runtime takes that where it fuses the node."""

    def made(axis: int) -> onnx.ModelProto:
        known = [
            numpy_helper.from_array(np.array([5, -7, 9], np.int32), "q"),
            numpy_helper.from_array(np.array([0.5, 0.25, 2], np.float32), "s"),
        ]
        nodes = [node("DequantizeLinear", "q s", "b", axis=axis), node("Add", "x b", "y")]
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in ("x", "y"))
        return helper.make_model(
            helper.make_graph(nodes, "bias", [x], [y], known), opset_imports=[helper.make_opsetid("", 13)], ir_version=8
        )

    x = RNG.standard_normal((2, 3)).astype(np.float32)
    imported = from_proto(made(3))
    assert imported.misread
    (found,) = run(to_onnx(imported.graph), {"x": x})
    np.testing.assert_array_equal(found, run(made(0), {"x": x})[0])
