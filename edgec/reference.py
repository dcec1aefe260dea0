"""The float model in ONNX Runtime: the reference that packages are compared with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime

from edgec.export import to_onnx
from edgec.export.halves import rounded
from edgec.ir.graph import Graph


class FloatModel:
    """Calls the model: {input name: array} in, outputs in order out.

    file: the file that `graph` was imported from; it is what runs, so that a fault of the import shows. Where there is none, or ONNX
    Runtime does not take it (an operator it lacks), the graph runs; `from_file` tells. optimize: let ONNX Runtime fuse and reorder.
    halves: the graph runs as float16 storage would have it, see edgec/export/halves.py.
    """

    def __init__(self, graph: Graph, file: Path | None = None, *, optimize: bool = True, halves: bool = False) -> None:
        self._inputs, self._outputs = list(graph.inputs), list(graph.outputs)
        session = _open(str(file), optimize) if file is not None else None
        self.from_file = session is not None
        self._session = session or _session(_bytes(graph, halves), optimize and not halves)

    def __call__(self, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        feed = {name: inputs[name] for name in self._inputs}
        return [np.asarray(output) for output in self._session.run(self._outputs, feed)]


def _bytes(graph: Graph, halves: bool) -> bytes:
    model = to_onnx(graph)
    return bytes((rounded(model) if halves else model).SerializeToString())


def _session(model: str | bytes, optimize: bool) -> onnxruntime.InferenceSession:
    settings = onnxruntime.SessionOptions()
    settings.log_severity_level = 3
    levels = onnxruntime.GraphOptimizationLevel
    settings.graph_optimization_level = levels.ORT_ENABLE_ALL if optimize else levels.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])


def _open(path: str, optimize: bool) -> onnxruntime.InferenceSession | None:
    try:
        return _session(path, optimize)
    except Exception:  # its error classes have no common base of their own
        return None
