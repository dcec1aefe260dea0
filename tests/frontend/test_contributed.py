"""ONNX Runtime's own operators as the import writes them, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

from edgec.base.errors import ModelError
from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.lower import lower
from edgec.targets import load_target

RNG = np.random.default_rng(11)


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def codes(*shape: int, kind: Any = np.int8) -> np.ndarray:
    info = np.iinfo(kind)
    return RNG.integers(info.min, info.max, shape, kind, endpoint=True)


def lstm(directions: int, inputs: int, hidden: int, *, columns: bool = False, more: bool = False) -> list[np.ndarray | None]:
    """What DynamicQuantizeLSTM has behind its inputs. columns: scales and zero points for each. more: first states and peepholes."""
    shape = (directions, 4 * hidden) if columns else (directions,)
    scales = [RNG.uniform(0.004, 0.01, shape).astype(np.float32) for _ in range(2)]
    zeros = [np.zeros(shape, np.int8) if columns else codes(*shape) // 8 for _ in range(2)]
    states = [normal(directions, 1, hidden), normal(directions, 1, hidden), normal(directions, 3 * hidden)] if more else [None] * 3
    weights = [codes(directions, rows, 4 * hidden) for rows in (inputs, hidden)]
    return [*weights, normal(directions, 8 * hidden), None, *states, scales[0], zeros[0], scales[1], zeros[1]]


X, GAMMA, BETA = normal(2, 5, 16), normal(16), normal(16)
IDS, MASK = RNG.integers(0, 9, (2, 5)).astype(np.int32), np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
ANGLES = RNG.uniform(-1, 1, (9, 2)).astype(np.float32)
POSITIONS = np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]])
STEP, ZERO = np.array(0.02, np.float32), np.array(3, np.uint8)
Q = {"scale": np.array([0.05], np.float32), "zero": np.array([7], np.uint8)}

# operator, domain, operands (None for an absent one; the first is fed, the others known), attributes, outputs
CASES: list[tuple[str, str, list[np.ndarray | None], dict[str, Any], int]] = [
    ("FusedConv", "com.microsoft", [normal(1, 3, 6, 7), normal(4, 3, 3, 3), normal(4)], {"activation": "Relu", "pads": [1, 1, 1, 1]}, 1),
    ("FusedConv", "com.microsoft", [normal(1, 3, 6, 7), normal(4, 3, 1, 1), normal(4), normal(1, 4, 6, 7)], {"activation": "Relu"}, 1),
    ("FusedConv", "com.microsoft", [normal(1, 3, 6, 7), normal(4, 3, 3, 3), normal(4)],
     {"activation": "LeakyRelu", "activation_params": [0.3]}, 1),
    ("FusedConv", "com.microsoft", [normal(1, 3, 6, 7), normal(4, 3, 3, 3), normal(4)],
     {"activation": "Clip", "activation_params": [-0.5, 0.75]}, 1),
    ("FusedGemm", "com.microsoft", [normal(3, 6), normal(5, 6), normal(5)], {"transB": 1, "activation": "Tanh"}, 1),
    ("FusedMatMul", "com.microsoft", [normal(2, 6, 3), normal(2, 5, 6)], {"transA": 1, "transB": 1, "alpha": 0.25}, 1),
    ("TransposeMatMul", "com.microsoft", [normal(2, 6, 3), normal(2, 6, 5)], {"transA": 1, "alpha": 0.5}, 1),
    ("Gelu", "com.microsoft", [X], {}, 1), ("FastGelu", "com.microsoft", [X, BETA], {}, 1), ("QuickGelu", "com.microsoft", [X], {}, 1),
    ("FastGelu", "com.microsoft", [X], {}, 1), ("BiasGelu", "com.microsoft", [X, BETA], {}, 1),
    ("LayerNormalization", "", [X, GAMMA, BETA], {"axis": -1, "epsilon": 1e-4}, 1),
    ("SimplifiedLayerNormalization", "", [X, GAMMA], {"axis": -1, "epsilon": 1e-4}, 1),
    ("SkipLayerNormalization", "com.microsoft", [X, normal(2, 5, 16), GAMMA, BETA, normal(16)], {"epsilon": 1e-5}, 4),
    ("SkipSimplifiedLayerNormalization", "com.microsoft", [X, normal(2, 5, 16), GAMMA, normal(16)], {"epsilon": 1e-5}, 4),
    ("EmbedLayerNormalization", "com.microsoft", [IDS, IDS % 2, normal(9, 16), normal(5, 16), normal(2, 16), GAMMA, BETA, MASK], {}, 2),
    ("Attention", "com.microsoft", [X, normal(16, 48), normal(48)], {"num_heads": 4}, 1),
    ("Attention", "com.microsoft", [X, normal(16, 48), normal(48), MASK], {"num_heads": 4, "unidirectional": 1}, 1),
    ("Attention", "com.microsoft", [X, normal(16, 48), normal(48), np.array([3, 5], np.int32)], {"num_heads": 2}, 1),
    ("Attention", "com.microsoft", [X, normal(16, 48), normal(48), None, normal(2, 2, 4, 3, 4)], {"num_heads": 4}, 2),
    ("MultiHeadAttention", "com.microsoft", [X, normal(2, 7, 16), normal(2, 7, 16), normal(48)], {"num_heads": 4}, 1),
    ("MultiHeadAttention", "com.microsoft", [X, normal(2, 5, 16), normal(2, 5, 16), None, MASK, normal(2, 4, 5, 5)],
     {"num_heads": 4, "scale": 0.3}, 1),
    ("RotaryEmbedding", "com.microsoft", [normal(2, 5, 16), POSITIONS, ANGLES, ANGLES[::-1].copy()], {}, 1),
    ("RotaryEmbedding", "com.microsoft", [normal(2, 3, 5, 4), np.array([2]), ANGLES, ANGLES[::-1].copy()], {"interleaved": 1}, 1),
    ("DynamicQuantizeMatMul", "com.microsoft", [normal(3, 12), codes(12, 5), STEP, np.array(0, np.int8), normal(5)], {}, 1),
    ("DynamicQuantizeLSTM", "com.microsoft", [normal(6, 1, 5), *lstm(1, 5, 7)], {"hidden_size": 7}, 3),
    ("DynamicQuantizeLSTM", "com.microsoft", [normal(6, 1, 5), *lstm(2, 5, 7, columns=True)],
     {"hidden_size": 7, "direction": "bidirectional", "activations": ["Sigmoid", "Tanh", "Tanh", "Sigmoid", "Relu", "Tanh"]}, 3),
    ("DynamicQuantizeLSTM", "com.microsoft", [normal(4, 1, 5), *lstm(1, 5, 7, more=True)],
     {"hidden_size": 7, "direction": "reverse", "clip": 1.5}, 3),
    ("DynamicQuantizeLSTM", "com.microsoft", [normal(4, 1, 5), *lstm(1, 5, 7, more=True)], {"hidden_size": 7, "input_forget": 1}, 3),
    ("DynamicQuantizeLSTM", "com.microsoft", [normal(14, 1, 5), *lstm(2, 5, 7, columns=True, more=True)],
     {"hidden_size": 7, "direction": "bidirectional"}, 3),
    ("DynamicQuantizeLSTM", "com.microsoft", [normal(12, 1, 5), *lstm(1, 5, 7)], {"hidden_size": 7, "direction": "reverse"}, 3),
    ("MatMulIntegerToFloat", "com.microsoft",
     [codes(3, 12, kind=np.uint8), codes(12, 5), STEP, STEP, ZERO, np.array(0, np.int8), normal(5)], {}, 1),
    ("DynamicQuantizeLinear", "", [X], {}, 3), ("DynamicQuantizeLinear", "", [np.zeros((2, 3), np.float32)], {}, 3),
    ("MatMulInteger", "", [codes(3, 600, kind=np.uint8), codes(600, 5), ZERO, codes(5)], {}, 1),
    ("MatMulInteger", "", [codes(2, 3, 12, kind=np.uint8), codes(2, 12, 5, kind=np.uint8), ZERO, ZERO], {}, 1),
    ("ConvInteger", "", [codes(1, 4, 6, 7, kind=np.uint8), codes(6, 2, 3, 2), ZERO, np.array(0, np.int8)],
     {"group": 2, "pads": [1, 0, 2, 1], "strides": [2, 1], "dilations": [1, 2]}, 1),
    ("ConvInteger", "", [codes(1, 3, 6, 7, kind=np.uint8), codes(5, 3, 3, 3, kind=np.uint8), ZERO, ZERO], {"auto_pad": "SAME_UPPER"}, 1),
    ("MultiHeadAttention", "com.microsoft", [X, normal(2, 7, 16), normal(2, 7, 16)], {"num_heads": 4, "unidirectional": 1}, 1),
    ("MultiHeadAttention", "com.microsoft", [X, normal(2, 3, 16), normal(2, 3, 16)], {"num_heads": 4, "unidirectional": 1}, 1),
    ("MultiHeadAttention", "com.microsoft",
     [X, normal(2, 5, 16), normal(2, 5, 16), None, None, None, normal(2, 4, 2, 4), normal(2, 4, 2, 4)],
     {"num_heads": 4, "unidirectional": 1}, 3),
]  # fmt: skip


def proto_of(case: Any, without: int = -1) -> onnx.ModelProto:
    """The case's node alone. without: the place of an operand that it has no name for."""
    op, domain, operands, attributes, count = case
    known = {f"i{place}": array for place, array in enumerate(operands) if array is not None}
    names = [f"i{place}" if array is not None and place != without else "" for place, array in enumerate(operands)]
    wanted = [place for place in range(count) if not ("Skip" in op and place in (1, 2))]
    outputs = [f"o{place}" if place in wanted else "" for place in range(count)]
    node = helper.make_node(op, names, outputs, domain=domain, name=op, **attributes)
    first = helper.make_tensor_value_info("i0", helper.np_dtype_to_tensor_dtype(operands[0].dtype), operands[0].shape)
    graph = helper.make_graph([node], "g", [first], [onnx.ValueInfoProto(name=name) for name in outputs if name])
    graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in known.items() if name != "i0")
    opsets = [helper.make_opsetid("", 16), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{len(case[2])}")
def test_it_computes_what_onnxruntime_does(case: Any) -> None:
    operands, proto = case[2], proto_of(case)
    expected = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"i0": operands[0]})
    imported = from_proto(proto).graph
    found = onnxruntime.InferenceSession(to_onnx(imported).SerializeToString()).run(None, {"i0": operands[0]})
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4 if one.dtype.kind == "f" else 0)


@pytest.mark.parametrize("case", {case[0]: case for case in CASES}.values(), ids=lambda case: case[0])
def test_a_node_without_one_of_its_operands_is_refused_or_built(case: Any) -> None:
    """No schema says which it needs."""
    for place, array in enumerate(case[2]):
        if array is None:
            continue
        try:
            lower(from_proto(proto_of(case, without=place)).graph, load_target("portable"), "g")
        except ModelError:
            continue


@pytest.mark.parametrize(
    "mask", [np.array([5, 0]), np.ones((2, 5)), np.array([5, 0, 5, 0, 5])], ids=["ends and starts", "two samples", "both"]
)
def test_masks_of_another_batch_are_refused(mask: np.ndarray) -> None:
    """Of two axes, or of one with more numbers than samples, as packed samples have them."""
    call = helper.make_node("Attention", ["x", "w", "b", "m"], ["y"], domain="com.microsoft", name="call", num_heads=4)
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 5, 16])
    known = {"w": normal(16, 48), "b": normal(48), "m": mask.astype(np.int32)}
    graph = helper.make_graph(
        [call], "g", [x], [onnx.ValueInfoProto(name="y")], [numpy_helper.from_array(array, name) for name, array in known.items()]
    )
    opsets = [helper.make_opsetid("", 16), helper.make_opsetid("com.microsoft", 1)]
    with pytest.raises(ModelError, match=r"a mask \[.*\] is not supported"):
        from_proto(helper.make_model(graph, opset_imports=opsets, ir_version=8))


def test_bias_add_is_a_sum_of_three() -> None:
    """ONNX Runtime has it for GPUs alone."""
    operands = {"x": normal(2, 5, 16), "bias": normal(16), "skip": normal(2, 5, 16)}
    node = helper.make_node("BiasAdd", list(operands), ["y"], domain="com.microsoft")
    given = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, array.shape) for name, array in operands.items()]
    graph = helper.make_graph([node], "g", given, [onnx.ValueInfoProto(name="y")])
    opsets = [helper.make_opsetid("", 16), helper.make_opsetid("com.microsoft", 1)]
    imported = from_proto(helper.make_model(graph, opset_imports=opsets, ir_version=8)).graph
    (found,) = onnxruntime.InferenceSession(to_onnx(imported).SerializeToString()).run(None, operands)
    np.testing.assert_allclose(found, sum(operands.values()), rtol=1e-6, atol=1e-6)
