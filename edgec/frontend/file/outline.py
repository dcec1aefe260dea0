"""What an ONNX file says of itself, for a model that cannot be imported."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import onnx

from edgec.ops.proto import type_word


@dataclass(frozen=True)
class Outline:
    """Operators with their numbers, and (name, element type, shape) of inputs and outputs, as the file has them."""

    operators: dict[str, int]
    inputs: tuple[tuple[str, str, list[str]], ...]
    outputs: tuple[tuple[str, str, list[str]], ...]


def outline(path: Path) -> Outline:
    """Read a file that holds an ONNX graph, whatever is in it. Branches and functions are not opened."""
    graph = onnx.load(str(path), load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    counts = Counter(f"{node.domain}.{node.op_type}".removeprefix("ai.onnx.").lstrip(".") for node in graph.node)
    inputs = tuple(_port(value) for value in graph.input if value.name not in weights)
    return Outline(dict(sorted(counts.items())), inputs, tuple(map(_port, graph.output)))


def _port(value: onnx.ValueInfoProto) -> tuple[str, str, list[str]]:
    tensor = value.type.tensor_type
    shape = [str(dim.dim_value or dim.dim_param or "?") for dim in tensor.shape.dim]
    return value.name, type_word(tensor.elem_type), shape
