"""Graphs as bytes that hold data alone: JSON, and behind it the arrays that it numbers. Nothing that is read here can run.

What one stream has sent once, an array that two graphs share, is not sent again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BufferedReader
from math import prod
from typing import Any, BinaryIO

import numpy as np

from edgec.ir.graph import Graph, Node, State
from edgec.ir.types import Dim, DType, Symbol, TensorType

LENGTH = 8  # bytes that say how long the JSON is


class Sender:
    """Writes messages to a stream: JSON values whose `graph`, where they have one, is a Graph."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._sent: dict[int, tuple[int, np.ndarray]] = {}  # the arrays are kept, so that no other takes their identity

    def __call__(self, **message: Any) -> None:
        fresh: list[np.ndarray] = []
        if isinstance(message.get("graph"), Graph):
            message["graph"] = _told(message["graph"], lambda array: self._number(array, fresh))
        message["arrays"] = [[array.dtype.name, list(array.shape)] for array in fresh]
        text = json.dumps(message).encode()
        self._stream.write(len(text).to_bytes(LENGTH, "little") + text)
        for array in fresh:
            self._stream.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        self._stream.flush()

    def _number(self, array: np.ndarray, fresh: list[np.ndarray]) -> int:
        if id(array) not in self._sent:
            self._sent[id(array)] = (len(self._sent), array)
            fresh.append(array)
        return self._sent[id(array)][0]


def received(stream: BufferedReader) -> Iterator[dict[str, Any]]:
    """The messages of a stream until it ends, be it in the middle of one."""
    arrays: list[np.ndarray] = []
    while len(head := stream.read(LENGTH)) == LENGTH:
        size = int.from_bytes(head, "little")
        text = stream.read(size)
        if len(text) < size:
            return
        message = json.loads(text)
        for kind, shape in message.pop("arrays"):
            data = np.empty(prod(shape) * DType(kind).bytes, np.uint8)
            if stream.readinto(data.data) < data.size:
                return
            arrays.append(data.view(DType(kind).numpy).reshape(shape))
        if "graph" in message:
            message["graph"] = _read(message["graph"], arrays)
        yield message


def _told(graph: Graph, number: Any) -> dict[str, Any]:
    return {
        "name": graph.name,
        "inputs": graph.inputs,
        "outputs": graph.outputs,
        "metadata": graph.metadata,
        "held": {name: kind.value for name, kind in graph.held.items()},
        "states": {name: [state.output, state.start] for name, state in graph.states.items()},
        "types": {name: [kind.dtype.value, [_dim(dim) for dim in kind.shape]] for name, kind in graph.types.items()},
        "constants": {name: number(array) for name, array in graph.constants.items()},
        "nodes": [[node.op, node.inputs, node.outputs, _attributes(node, number), node.name] for node in graph.nodes],
    }


def _dim(dim: Dim) -> int | list[Any]:
    if not isinstance(dim, Symbol):
        return int(dim)
    made = dim.made and [dim.made[0], [_dim(operand) for operand in dim.made[1]]]
    return [dim.name, dim.bound, dim.counted, made]


def _attributes(node: Node, number: Any) -> dict[str, Any]:
    return {key: _attribute(value, number) for key, value in node.attributes.items()}


def _attribute(value: Any, number: Any) -> Any:
    if isinstance(value, Graph):
        return {"graph": _told(value, number)}
    return {"array": number(value)} if isinstance(value, np.ndarray) else _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _read(told: dict[str, Any], arrays: list[np.ndarray]) -> Graph:
    types = {name: TensorType(DType(kind), tuple(map(_as_dim, shape))) for name, (kind, shape) in told["types"].items()}
    nodes = [
        Node(op, inputs, outputs, {key: _as_attribute(value, arrays) for key, value in attributes.items()}, name)
        for op, inputs, outputs, attributes, name in told["nodes"]
    ]
    constants = {name: arrays[number] for name, number in told["constants"].items()}
    held = {name: DType(kind) for name, kind in told["held"].items()}
    states = {name: State(*state) for name, state in told["states"].items()}
    return Graph(told["name"], told["inputs"], told["outputs"], nodes, constants, types, told["metadata"], held, states)


def _as_dim(dim: Any) -> Dim:
    if not isinstance(dim, list):
        return int(dim)
    name, bound, counted, made = dim
    return Symbol(name, bound, counted, made and (made[0], tuple(map(_as_dim, made[1]))))


def _as_attribute(value: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(value, dict):
        return _read(value["graph"], arrays) if "graph" in value else arrays[value["array"]]
    return value
