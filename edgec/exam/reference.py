"""The float model in ONNX Runtime: the reference that packages are compared with."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from edgec.base.errors import ModelError
from edgec.export import to_onnx
from edgec.export.guards import guarded, needs_guard
from edgec.export.halves import rounded
from edgec.export.runtime import Effort, Session
from edgec.ir.graph import Graph
from edgec.ir.types import TensorType


class FloatModel:
    """Calls the model: {input name: array} in, outputs in order out.

    file: the file that `graph` was imported from; it is what runs, so that a fault of the import shows. Where there is none, or ONNX
    Runtime does not take it (an operator it lacks), would die of it (a division by 0) or rounds between its nodes what the graph does not
    (to floats of 16 bits), the graph runs; `from_file` tells.
    optimize: let ONNX Runtime fuse and reorder. halves: the graph runs as float16 storage would have it but for the values of `exact`,
    see edgec/export/halves.py.
    fixed: inputs of the file that are constants in the graph. functions: bytes of an ONNX model that has functions which the file lacks.
    An output of which only a run knows how many elements it has is filled up, as a package does it.
    A call raises ModelError for what ONNX Runtime cannot run, and for answers of another type than the graph's.
    """

    def __init__(
        self, graph: Graph, file: Path | None = None, *, optimize: bool = True, halves: bool = False,
        fixed: Mapping[str, np.ndarray] | None = None, functions: bytes = b"", exact: Collection[str] = (),
    ) -> None:  # fmt: skip
        self._source, self._fixed, self._functions = (graph, file), dict(fixed or {}), functions
        self._choices, self._exact = (Effort.ALL if optimize else Effort.NONE, halves), exact
        self._inputs, self._outputs = list(graph.inputs), list(graph.outputs)
        self._types = {name: graph.types[name] for name in graph.outputs}
        self._shapes = graph.told_shapes()
        self._session: Session | None = self._open()

    def _open(self) -> Session:
        (graph, file), (effort, halves) = self._source, self._choices
        traps = any(needs_guard(graph, node) for node in graph.nodes)
        session = _opened(file, self._functions, effort) if file is not None and not traps and not graph.held else None
        self.from_file = session is not None
        if session is None:
            self._fixed = {}
        return session or Session(_bytes(graph, halves, self._exact), Effort.NONE if halves else effort)

    def unoptimized(self) -> FloatModel:
        """The same model, each operator by itself. This one gives its memory back until it is called again: weights may be large."""
        self._session = None
        return FloatModel(*self._source, optimize=False, fixed=self._fixed, functions=self._functions)

    def __call__(self, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
        wanted = [name for name in self._outputs if name not in self._shapes]
        found = dict(zip(wanted, self._run(wanted, inputs), strict=True))
        found |= {name: np.array(found[told].shape, np.int64) for name, told in self._shapes.items()}
        answers = [filled(found[name], self._types[name]) for name in self._outputs]
        for name, answer in zip(self._outputs, answers, strict=True):
            kind, expected = f"{answer.dtype}[{','.join(map(str, answer.shape))}]", self._types[name]
            if expected.is_static and kind != str(expected):
                hint = "one of both is wrong: please send us the model"
                raise ModelError(f"ONNX Runtime computes {kind}, edgec {expected}", where=f"output {name}", hint=hint)
        return answers

    def _run(self, wanted: list[str], inputs: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """From an optimized session once more without: it may have fused what it then cannot run."""
        self._session = self._session or self._open()
        feed, (effort, halves) = {name: inputs[name] for name in self._inputs}, self._choices
        try:
            return self._session(wanted, feed | self._fixed)
        except ModelError:
            if effort is Effort.NONE:
                raise
        self._session, self._choices = None, (Effort.NONE, halves)
        return self._run(wanted, inputs)


def filled(array: np.ndarray, kind: TensorType) -> np.ndarray:
    """Of a counted type: the elements one behind the other, and zeros up to its largest shape."""
    if not kind.is_counted or array.size > kind.elements:
        return array
    return np.pad(array.reshape(-1), (0, kind.elements - array.size)).reshape(kind.static_shape)


def _bytes(graph: Graph, halves: bool, exact: Collection[str]) -> bytes:
    model = guarded(to_onnx(graph), graph)
    return bytes((rounded(model, exact) if halves else model).SerializeToString())


def _opened(file: Path, functions: bytes, effort: Effort) -> Session | None:
    try:
        return Session(file.read_bytes() + functions, effort, folder=file.parent) if functions else Session(str(file), effort)
    except ModelError:  # an operator that it lacks, perhaps: the graph may do
        return None
