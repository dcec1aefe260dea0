"""Small models for the tests of the import."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from edgec.export import to_onnx
from edgec.frontend import from_proto
from edgec.frontend.file.pinning import Shapes
from edgec.ir.graph import Graph
from edgec.ir.verify import verify

FLOAT = TensorProto.FLOAT


def model(
    nodes: list[onnx.NodeProto], inputs: dict[str, Any], outputs: list[str], constants: dict[str, np.ndarray] | None = None, *,
    opset: int = 17, functions: list[onnx.FunctionProto] | None = None, domains: dict[str, int] | None = None,
) -> onnx.ModelProto:  # fmt: skip
    """A model; `inputs` maps names to shapes (float32) or to (element type, shape)."""
    declared = [
        helper.make_tensor_value_info(name, *(shape if isinstance(shape, tuple) else (FLOAT, shape))) for name, shape in inputs.items()
    ]
    graph = helper.make_graph(
        nodes, "test", declared, [helper.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in (constants or {}).items()],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", opset), *(helper.make_opsetid(*item) for item in (domains or {}).items())]
    return helper.make_model(graph, opset_imports=opsets, functions=functions or [], ir_version=8 if not functions else 10)


def node(op: str, inputs: str, outputs: str, name: str = "", domain: str = "", **attributes: Any) -> onnx.NodeProto:
    """A node; `_` is an absent input."""
    names = ["" if item == "_" else item for item in inputs.split()]
    return helper.make_node(op, names, outputs.split(), name=name or f"{op}_{outputs.split()[0]}", domain=domain, **attributes)


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def run(proto: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return list(onnxruntime.InferenceSession(proto.SerializeToString(), options).run(None, feeds))


def same_results(proto: onnx.ModelProto, shapes: Shapes | None = None) -> Graph:
    """Import `proto` and compare its export with the original on random input; the graph, to look at."""
    graph = from_proto(proto, shapes).graph
    verify(graph)
    generator = np.random.default_rng(1)
    feeds = {}
    for name in graph.inputs:
        kind = graph.types[name]
        values = generator.standard_normal(kind.static_shape) if kind.dtype.is_float else generator.integers(0, 100, kind.static_shape)
        feeds[name] = values.astype(kind.dtype.numpy)
    for found, wanted in zip(run(to_onnx(graph), feeds), run(proto, feeds), strict=True):
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    return graph


def ops(graph: Graph) -> list[str]:
    return [item.op for item in graph.nodes]
