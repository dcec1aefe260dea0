"""The float model in ONNX Runtime: the reference that packages are compared with."""

from __future__ import annotations

import numpy as np
import onnxruntime

from edgec.export import to_onnx
from edgec.ir.graph import Graph


class FloatModel:
    """Calls the graph: {input name: array} in, outputs in order out."""

    def __init__(self, graph: Graph) -> None:
        content = to_onnx(graph).SerializeToString()
        self._session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        self._outputs = list(graph.outputs)

    def __call__(self, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        return [np.asarray(output) for output in self._session.run(self._outputs, inputs)]
