"""Small ONNX models for the evaluator's tests."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper


class Builder:
    """Collects nodes; every method returns the name of the value it adds."""

    def __init__(self, opset: int = 21) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.opset = opset

    def const(self, array: Any, dtype: Any = None) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, dtype), name))
        return name

    def op(self, kind: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        names = [name, *(f"{name}_{i}" for i in range(1, outputs))]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=name, domain=domain, **attributes))
        return name

    def dequantize(self, q: str, scale: Any, zero: Any, **attributes: Any) -> str:
        """`zero` carries the type of q."""
        return self.op("DequantizeLinear", q, self.const(scale, np.float32), self.const(zero), **attributes)

    def quantize(self, x: str, scale: Any, zero: Any) -> str:
        return self.op("QuantizeLinear", x, self.const(scale, np.float32), self.const(zero))

    def model(self, inputs: dict[str, np.ndarray], outputs: dict[str, Any]) -> onnx.ModelProto:
        """Inputs have the type and shape of the arrays, outputs the given dtype."""
        code = helper.np_dtype_to_tensor_dtype
        given = [helper.make_tensor_value_info(name, code(array.dtype), array.shape) for name, array in inputs.items()]
        results = [helper.make_tensor_value_info(name, code(np.dtype(dtype)), None) for name, dtype in outputs.items()]
        graph = helper.make_graph(self.nodes, "case", given, results, self.constants)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def run_onnxruntime(model: onnx.ModelProto, inputs: dict[str, np.ndarray], *, optimize: bool = False) -> list[np.ndarray]:
    """The outputs by ONNX Runtime, each operator by itself unless `optimize`."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    if not optimize:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    results: list[np.ndarray] = session.run(None, inputs)
    return results


def random_q(generator: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Codes over the whole range, with the extremes for certain."""
    info = np.iinfo(dtype)
    q = generator.integers(info.min, info.max + 1, shape).astype(dtype)
    q.flat[0], q.flat[-1] = info.min, info.max
    return q


def root_norm(b: Builder, x: str, scale: str, epsilon: float) -> str:
    """RMSNormalization, which is younger than the operator sets that models with codes have, in the operators that stand for it."""
    mean = b.op("ReduceMean", b.op("Mul", x, x), b.const([-1]), keepdims=1)
    inverse = b.op("Reciprocal", b.op("Sqrt", b.op("Add", mean, b.const(epsilon, np.float32))))
    return b.op("Mul", b.op("Mul", x, inverse), scale)
