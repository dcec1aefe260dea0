"""Answers whose small numbers say nothing: ONNX Runtime's sigmoid is 0 below -18, and off by some 1e-7 whatever it is."""

from __future__ import annotations

from edgec.ir.graph import Graph, Node

LEAST = 0.01  # such an answer is compared as if its largest number were this at least
_SAME_NUMBERS = frozenset(("Cast", "Flatten", "Gather", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze"))
_SOME_OF_THEM = frozenset(("Concat", "MaxPool", "Max", "Min", "Mul", "ReduceMax", "ReduceMin", "TopK", "Where"))


def least_numbers(graph: Graph) -> dict[str, float]:
    """Of such answers the number that their largest one counts as where it is smaller."""
    blurred: set[str] = set()
    for node in graph.nodes:
        if node.op == "Sigmoid" or _is_made_of(graph, node, blurred):
            blurred.update(node.outputs)
    return {name: LEAST for name in graph.answered if name in blurred}


def _is_made_of(graph: Graph, node: Node, blurred: set[str]) -> bool:
    """Whether all numbers of a node are sigmoids, their products or the largest of them."""
    if node.op in _SAME_NUMBERS:
        return node.inputs[0] in blurred
    floats = [name for name in node.inputs if name and graph.dtype(name).is_float]
    return node.op in _SOME_OF_THEM and all(name in blurred for name in floats)
