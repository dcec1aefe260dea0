"""An ONNX model as the evaluator reads it: nodes, constants, who reads what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from edgec.base.errors import ModelError


@dataclass(frozen=True, eq=False)
class Node:
    """One operator call; an absent optional input is the empty string."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, Any]
    proto: onnx.NodeProto

    def input(self, index: int) -> str:
        return self.inputs[index] if index < len(self.inputs) else ""

    def get(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)


class Model:
    """`readers[v]` has one entry for each use of v: the node, or None for a graph output or a use inside a subgraph."""

    def __init__(self, source: onnx.ModelProto | Path | str) -> None:
        self.proto = source if isinstance(source, onnx.ModelProto) else onnx.load(str(source))
        graph = self.proto.graph
        self.opsets = {item.domain: item.version for item in self.proto.opset_import}
        self.constants = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
        self.inputs = [item.name for item in graph.input if item.name not in self.constants]
        self.outputs = [item.name for item in graph.output]
        self.nodes = [_node(item) for item in graph.node]
        self.producers = {output: node for node in self.nodes for output in node.outputs if output}
        self.readers: dict[str, list[Node | None]] = {}
        for node in self.nodes:
            for name in node.inputs:
                self.readers.setdefault(name, []).append(node)
            for name in captured(node.proto):
                self.readers.setdefault(name, []).append(None)
        for name in self.outputs:
            self.readers.setdefault(name, []).append(None)
        self.types = _types(self.proto)

    def only_reader(self, value: str) -> Node | None:
        """The node that is the single reader of `value`, None when there is none or more than one."""
        readers = self.readers.get(value, [])
        return readers[0] if len(readers) == 1 else None

    def knows(self, value: str) -> bool:
        """Whether it is a value of this graph, not one of a subgraph's own."""
        return value in self.producers or value in self.constants or value in self.inputs


@dataclass(frozen=True)
class Type:
    """What shape inference found: the element type (onnx.TensorProto's number), the rank, or None, and the last extent, or 0."""

    element: int
    rank: int | None
    last: int = 0


def _types(proto: onnx.ModelProto) -> dict[str, Type]:
    graph = onnx.shape_inference.infer_shapes(proto).graph
    found = {item.name: Type(item.data_type, len(item.dims), *item.dims[-1:]) for item in graph.initializer}
    for item in (*graph.input, *graph.output, *graph.value_info):
        tensor = item.type.tensor_type
        dims = tensor.shape.dim
        found[item.name] = Type(tensor.elem_type, len(dims) if tensor.HasField("shape") else None, dims[-1].dim_value if dims else 0)
    return found


def _node(proto: onnx.NodeProto) -> Node:
    if proto.domain not in ("", "ai.onnx", "com.microsoft"):
        raise ModelError(f"operator {proto.op_type} of domain {proto.domain!r} is unknown to the evaluator", where=proto.name)
    attributes = {item.name: _plain(onnx.helper.get_attribute_value(item)) for item in proto.attribute}
    return Node(proto.op_type, tuple(proto.input), tuple(proto.output), attributes, proto)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def captured(proto: onnx.NodeProto) -> Iterator[str]:
    """Names that subgraphs of this node read; some may be the subgraph's own, which does no harm."""
    for item in proto.attribute:
        for graph in (item.g, *item.graphs):
            for node in graph.node:
                yield from filter(None, node.input)
                yield from captured(node)


def integers(array: np.ndarray | None) -> list[int]:
    return [] if array is None else [int(v) for v in np.asarray(array).ravel()]
