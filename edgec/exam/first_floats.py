"""Where a model is given integers alone, the first floats that it makes of them are what a rounding may move."""

from __future__ import annotations

import numpy as np

from edgec.exam.questions import shaken
from edgec.ir.graph import Graph, Node


def takes_floats(graph: Graph) -> bool:
    return any(graph.dtype(name).is_float for name in graph.given)


def with_moved_floats(graph: Graph, generator: np.random.Generator, most: float) -> Graph:
    """The graph, in which each float that is looked up, decoded or cast from integers is moved by up to this share of itself."""
    moved = graph.copy()
    for node in first_floats(moved):
        value = node.outputs[0]
        kind = moved.types[value]
        inner = moved.fresh(f"{value}_exact")
        moved.rewire(node, node.inputs, [inner, *node.outputs[1:]])
        moved.types[inner] = kind
        factors = moved.add_constant(f"{value}_factors", shaken(np.ones(kind.static_shape, kind.dtype.numpy), generator, most))
        moved.insert(Node("Mul", [inner, factors], [value], {}, f"{node.name}_moved"), [kind], after=node)
    return moved


def first_floats(graph: Graph) -> list[Node]:
    """The nodes whose first output is a float, and of whose inputs none comes of a float that is computed."""
    behind, found = set[str](), []  # what comes of floats, codes of them too
    for node in graph.nodes:
        read = [name for name in node.inputs if name and name not in graph.constants]
        kind = graph.types[node.outputs[0]]
        first = behind.isdisjoint(read)
        if not first or (read and kind.dtype.is_float):
            behind.update(node.outputs)
        if first and read and kind.dtype.is_float and kind.is_static:
            found.append(node)
    return found
