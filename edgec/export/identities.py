"""What ONNX's recurrent cells multiply their inputs by, which is the identity here: made by a few nodes, since it is large."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ops.recurrent import CELLS, W, X


def folder_of(graph: Graph) -> str:
    """What the names of values begin with that are made here, and no name of the graph does."""
    taken = {name.partition("/")[0] for name in graph.types}
    return next(f"{name}/" for name in ("identity", *(f"identity_{serial}" for serial in range(len(taken)))) if name not in taken)


def _widths(graph: Graph) -> list[int]:
    """Of the inputs of all cells, each once."""
    return sorted({_width(graph, node) for node in graph.nodes if node.op in CELLS})


def _width(graph: Graph, node: Node) -> int:
    extent = graph.shape(node.inputs[X])[-1]
    assert isinstance(extent, int)
    return extent


def identities(graph: Graph, folder: str) -> Iterator[Node]:
    """[1, width, width] for every width."""
    for width in _widths(graph):
        name = f"{folder}{width}"
        yield Node("ConstantOfShape", [f"{name}/shape"], [f"{name}/zeros"], {}, f"{name}/zeros")
        yield Node("EyeLike", [f"{name}/zeros"], [f"{name}/matrix"], {"dtype": 1, "k": 0}, f"{name}/matrix")
        yield Node("Unsqueeze", [f"{name}/matrix", f"{folder}axes"], [name], {}, name)


def identity_constants(graph: Graph, folder: str) -> dict[str, np.ndarray]:
    """What these nodes read."""
    widths = _widths(graph)
    shapes = {f"{folder}{width}/shape": np.array([width, width], np.int64) for width in widths}
    return {**shapes, **({f"{folder}axes": np.zeros(1, np.int64)} if widths else {})}


def with_identity(graph: Graph, node: Node, folder: str) -> Node:
    """The cell as ONNX has it."""
    return replace(node, inputs=[f"{folder}{_width(graph, node)}" if place == W else name for place, name in enumerate(node.inputs)])
