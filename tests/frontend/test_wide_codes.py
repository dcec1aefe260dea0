"""Activations of 16 bits in ONNX Runtime's own QuantizeLinear and DequantizeLinear, which had them before the standard's."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgec.export import to_onnx
from edgec.export.runtime import Effort, Session
from edgec.frontend import from_proto
from edgec.integer import match
from edgec.integer.operators import WideDotProduct


def contributed(kind: type[np.integer]) -> onnx.ModelProto:
    """x -> codes of 16 bits -> MatMul with int8 weights -> codes -> y."""
    known = {
        "s": np.float32(0.001), "z": np.array(np.iinfo(kind).min + 30_000, kind), "w": np.arange(-10, 10, dtype=np.int8).reshape(4, 5),
        "ws": np.float32(0.1), "wz": np.int8(0), "t": np.float32(0.002),
    }  # fmt: skip
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], domain="com.microsoft"),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], domain="com.microsoft"),
        helper.make_node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], domain="com.microsoft"),
        helper.make_node("MatMul", ["d", "wd"], ["m"]),
        helper.make_node("QuantizeLinear", ["m", "t", "z"], ["r"], domain="com.microsoft"),
        helper.make_node("DequantizeLinear", ["r", "t", "z"], ["y"], domain="com.microsoft"),
    ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, width]) for name, width in (("x", 4), ("y", 5))]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [numpy_helper.from_array(np.asarray(a), n) for n, a in known.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)], ir_version=8)


@pytest.mark.parametrize("kind", [np.int16, np.uint16])
def test_they_become_the_standards(kind: type[np.integer]) -> None:
    model = contributed(kind)
    graph = from_proto(model).graph
    assert any(isinstance(operator, WideDotProduct) for operator in match(graph).operators)
    x = np.random.default_rng(1).uniform(-40, 40, (3, 4)).astype(np.float32)
    given, ours = (Session(proto.SerializeToString(), Effort.NONE)(["y"], {"x": x})[0] for proto in (model, to_onnx(graph)))
    np.testing.assert_array_equal(given, ours)
