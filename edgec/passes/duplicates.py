"""What is computed twice, and what is computed for nobody."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.passes.rewrite import bypass, rewrites, why_not

CANDIDATES = 64  # readers of one value that are compared


@rewrites()
def merge_duplicates(graph: Graph, node: Node) -> bool:
    """y = f(a...), z = f(a...) -> y = f(a...), z = y (common subexpressions); constants are equal when their bytes are."""
    anchor = next((name for name in node.inputs if name and name not in graph.constants), "")
    others = graph.some_readers(anchor, CANDIDATES) if anchor else []
    twin = next((other for other in others if other is not node and _equal(graph, other, node)), None)
    if twin is None or graph.stands_before(node, twin):
        return False
    if any(graph.types[mine] != graph.types[other] for mine, other in zip(node.outputs, twin.outputs, strict=True) if mine and other):
        return why_not(node, "each counts for itself how many elements there are")
    if len(node.outputs) == 1:
        return bypass(graph, node, twin.outputs[0])
    if any(name in graph.outputs for name in (*node.outputs, *twin.outputs)):
        return why_not(node, "several outputs, one of them the graph's")
    if any(mine and not other for mine, other in zip(node.outputs, twin.outputs, strict=True)):
        return why_not(node, "its twin does not compute every output")
    for mine, other in zip(node.outputs, twin.outputs, strict=True):
        if mine:
            graph.replace_uses(mine, other)
    graph.remove([node])
    return True


@rewrites()
def remove_dead(graph: Graph, node: Node) -> bool:
    """Drop a node that nobody reads, and with it what only it had read (dead code)."""
    dead = [node]
    removed = False
    while dead:
        candidate = dead.pop()
        if any(graph.reader_count(output) for output in candidate.outputs if output):
            continue
        sources = [graph.producer(name) for name in dict.fromkeys(candidate.inputs) if name]
        graph.remove([candidate])
        dead += [source for source in sources if source is not None]
        removed = True
    return removed


def remove_unread_constants(graph: Graph) -> None:
    """Forget the constants that nobody reads."""
    for name in [name for name in graph.constants if not graph.reader_count(name)]:
        del graph.constants[name], graph.types[name]


def _equal(graph: Graph, one: Node, other: Node) -> bool:
    return (
        one.op == other.op
        and len(one.inputs) == len(other.inputs)
        and len(one.outputs) == len(other.outputs)
        and same_attributes(one.attributes, other.attributes)
        and all(same_value(graph, a, b) for a, b in zip(one.inputs, other.inputs, strict=True))
    )


def same_attributes(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two nodes' attributes are equal, arrays by their bytes."""
    return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)


def same_value(graph: Graph, one: str, other: str) -> bool:
    """Whether two names stand for the same value, constants by their bytes."""
    a, b = graph.constants.get(one), graph.constants.get(other)
    return one == other or (a is not None and b is not None and _same(a, b))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    return type(one) is type(other) and bool(one == other)
