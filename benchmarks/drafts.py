"""Models that benchmarks write: rows of numbers through dense layers and attention, with random weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Draft:
    """A model under construction. Every method that adds operators returns the name of the new value.

    Weights are drawn from Student's t with six degrees of freedom, so that channels have outliers as trained ones do.
    """

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.known: list[onnx.TensorProto] = []

    def add(self, op: str, *inputs: str, **attributes: object) -> str:
        output = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], output, **attributes))
        return output

    def constant(self, array: np.ndarray) -> str:
        """Float numbers in 32 bits, others as they are."""
        name = f"c{len(self.known)}"
        self.known.append(numpy_helper.from_array(array.astype(np.float32) if array.dtype.kind == "f" else array, name))
        return name

    def weights(self, inputs: int, outputs: int) -> np.ndarray:
        return np.asarray(self.rng.standard_t(6, (inputs, outputs)) / np.sqrt(1.5 * inputs))

    def dense(self, value: str, inputs: int, outputs: int, weights: np.ndarray | None = None) -> str:
        """weights: [inputs, outputs]; None draws them."""
        product = self.add("MatMul", value, self.constant(self.weights(inputs, outputs) if weights is None else weights))
        return self.add("Add", product, self.constant(self.rng.standard_normal(outputs) * 0.1))

    def normalized(self, value: str, width: int) -> str:
        return self.add("LayerNormalization", value, self.constant(np.ones(width)), self.constant(np.zeros(width)), axis=-1)

    def attended(self, value: str, tokens: int, width: int, heads: int) -> str:
        split = self.constant(np.array([1, tokens, heads, width // heads]))
        query, key, found = (self.add("Reshape", self.dense(value, width, width), split) for _ in range(3))
        scores = self.add("MatMul", self.add("Transpose", query, perm=[0, 2, 1, 3]), self.add("Transpose", key, perm=[0, 2, 3, 1]))
        scaled = self.add("Div", scores, self.constant(np.array((width // heads) ** 0.5)))
        mixed = self.add("MatMul", self.add("Softmax", scaled, axis=-1), self.add("Transpose", found, perm=[0, 2, 1, 3]))
        whole = self.add("Reshape", self.add("Transpose", mixed, perm=[0, 2, 1, 3]), self.constant(np.array([1, tokens, width])))
        return self.dense(whole, width, width)

    def model(self, inputs: Sequence[int], outputs: Sequence[int | None]) -> onnx.ModelProto:
        """From `x` to `y`, which is what the last operator gives."""
        last, self.nodes[-1].output[0] = self.nodes[-1].output[0], "y"
        assert all(last not in node.input for node in self.nodes)
        x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", inputs), ("y", outputs)))
        graph = helper.make_graph(self.nodes, "net", [x], [y], self.known)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
