"""Inputs that hold several things, as the states of recurrent cells that a caller hands back in one tensor."""

from __future__ import annotations

from edgec.ir.graph import Graph, Node

WHY = "takes one of the things that an input holds, which have scales of their own behind it"
PARTS = frozenset({"Slice", "Split"})
SHAPES = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"})


def unpacking(graph: Graph) -> frozenset[Node]:
    """What takes an input apart where nothing else reads it and no node reads two of the parts.

    Where one does, as behind the slices of an image that a Concat puts together again, the parts are of one thing.
    """
    found: set[Node] = set()
    for value in graph.inputs:
        readers = graph.readers(value)
        parts = [end for node in readers for end in node.outputs if end]
        if len(parts) < 2 or any(node.op not in PARTS or node.inputs[0] != value for node in readers):
            continue
        takers = [node for part in parts for node in _takers(graph, part)]
        if len(set(takers)) == len(takers):
            found.update(readers)
    return frozenset(found)


def _takers(graph: Graph, value: str) -> set[Node]:
    """What reads it, through changes of its shape."""
    found, front = set[Node](), [value]
    while front:
        for node in graph.readers(front.pop()):
            if node.op in SHAPES:
                front += node.outputs
            else:
                found.add(node)
    return found
