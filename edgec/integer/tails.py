"""What follows an operator: the activation that belongs to it, and the QuantizeLinear where its codes end."""

from __future__ import annotations

import math

import numpy as np

from edgec.integer.grid import any_grid_of, code_of, stored_type
from edgec.integer.operators import Tail
from edgec.ir.graph import Graph, Node

LARGEST = float(np.finfo(np.float32).max)


def sole_reader(graph: Graph, name: str) -> Node | None:
    """The only reader of `name`, None when there are several or it is a graph output."""
    readers = graph.readers(name)
    return readers[0] if len(readers) == 1 and name not in graph.outputs else None


def activation_bounds(graph: Graph, node: Node) -> tuple[float, float] | None:
    """The bounds of a Relu or of a Clip with constant bounds; the largest finite number is none, nor is NaN."""
    if node.op == "Relu":
        return 0.0, float("inf")
    if node.op != "Clip":
        return None
    bounds = [float("-inf"), float("inf")]
    for index in (1, 2):
        if node.input(index):
            array = graph.constant(node.input(index))
            if array is None:
                return None
            bound = float(array.reshape(()).item())
            is_none = math.isnan(bound) or (bound <= -LARGEST if index == 1 else bound >= LARGEST)
            bounds[index - 1] = bounds[index - 1] if is_none else bound
    return bounds[0], bounds[1]


def activation_of(graph: Graph, name: str) -> Node | None:
    """The Relu, or Clip with constant bounds, that alone reads `name`."""
    reader = sole_reader(graph, name)
    if reader is None or reader.inputs[0] != name or activation_bounds(graph, reader) is None:
        return None
    return reader


def tail_of(graph: Graph, name: str, activation: bool = True) -> Tail | None:
    """The QuantizeLinear to 8 bits that alone reads `name`, through at most one Relu or Clip with constant bounds."""
    found = any_tail_of(graph, name, activation)
    return found if found is not None and found.grid.bits == 8 else None


def any_tail_of(graph: Graph, name: str, activation: bool = True) -> Tail | None:
    """The same, to 8 or 16 bits."""
    between = activation_of(graph, name) if activation else None
    bounds = activation_bounds(graph, between) if between is not None else None
    end = between.outputs[0] if between is not None else name
    reader = sole_reader(graph, end)
    grid = any_grid_of(graph, reader) if reader is not None and reader.op == "QuantizeLinear" and reader.inputs[0] == end else None
    if reader is None or grid is None:
        return None
    low, high = bounds or (float("-inf"), float("inf"))
    return Tail(
        reader.outputs[0], stored_type(graph, reader), grid,
        0 if low == float("-inf") else code_of(low, grid), grid.most if high == float("inf") else code_of(high, grid),
        (reader,) if between is None else (between, reader),
    )  # fmt: skip
