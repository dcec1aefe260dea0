"""Attention of floats as it stands in a graph: two products with a Softmax between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from edgec.integer.tails import sole_reader
from edgec.ir.graph import Graph, Node

HIDDEN = -1e8  # a score below it is none: beside any other its weight is 0
LOW = -1e38  # what makes any score such a one by addition, and all of them the same


@dataclass(frozen=True)
class Mask:
    """What is added to scores: the value `name`, or `number` where the condition `name` holds, or does not (`holds`), and 0 elsewhere."""

    name: str
    number: float | None = None
    holds: bool = True


@dataclass(frozen=True)
class Attention:
    """softmax(scale * first + mask) times the second operand of `second`. inside: all nodes but `second`."""

    first: Node
    second: Node
    scale: float
    mask: Mask | None
    inside: tuple[Node, ...]


def attention_form(graph: Graph, second: Node) -> Attention | None:
    """MatMul(Softmax(MatMul(q, k) [* or / number] [+ mask]), v) along the last axis, when nobody else reads what is inside.

    Where(hidden, number, scores) is a mask too, if the number is below HIDDEN.
    """
    softmax = _inner(graph, second.inputs[0], "Softmax") if second.op == "MatMul" else None
    if softmax is None or softmax.attributes["axis"] % len(graph.shape(softmax.inputs[0])) != len(graph.shape(softmax.inputs[0])) - 1:
        return None
    for mask, name, masking in _masked(graph, softmax.inputs[0]):
        scale, scaling, first = _scaled(graph, name)
        if first is not None:
            return Attention(first, second, scale, mask, (first, *scaling, *masking, softmax))
    return None


def _inner(graph: Graph, name: str, *ops: str) -> Node | None:
    """The producer of a value that is read once."""
    node, reader = graph.producer(name), sole_reader(graph, name)
    return node if node is not None and node.op in ops and reader is not None and reader.inputs.count(name) == 1 else None


def _masked(graph: Graph, name: str) -> list[tuple[Mask | None, str, tuple[Node, ...]]]:
    """(mask, the scores before it, its node) in all the ways in which `name` may be read."""
    node = _inner(graph, name, "Add", "Where")
    if node is None:
        return [(None, name, ())]
    if node.op == "Add":
        ways = [(Mask(mask), scores, (node,)) for scores, mask in (node.inputs, node.inputs[::-1])]
    else:
        numbers = [graph.constant(operand) for operand in node.inputs[1:]]
        low = [number is not None and number.size == 1 and number.item() < HIDDEN for number in numbers]
        ways = [
            (Mask(node.inputs[0], float(number.item()) if np.isinf(number).all() else LOW, at == 0), node.inputs[2 - at], (node,))
            for at, number in enumerate(numbers)
            if low[at] and number is not None
        ]
    whole = graph.shape(name)
    return [way for way in ways if graph.shape(way[1]) == whole and graph.shape(way[0].name)[-1:] == whole[-1:]]


def _scaled(graph: Graph, name: str) -> tuple[float, tuple[Node, ...], Node | None]:
    """A number, the nodes that multiply by it, and the MatMul behind `name` that they multiply."""
    node = _inner(graph, name, "MatMul", "Mul", "Div")
    if node is None or node.op == "MatMul":
        return 1.0, (), node
    for value, other in ((node.inputs[0], node.inputs[1]), (node.inputs[1], node.inputs[0])):
        number = graph.constant(other)
        if (
            number is not None
            and number.size == 1
            and graph.shape(value) == graph.shape(name)
            and (node.op == "Mul" or other == node.inputs[1])
        ):
            with np.errstate(all="ignore"):
                scale = np.float32(number.item()) if node.op == "Mul" else np.float32(1) / np.float32(number.item())
            return float(scale), (node,), _inner(graph, value, "MatMul") if np.isfinite(scale) else None
    return 1.0, (), None
