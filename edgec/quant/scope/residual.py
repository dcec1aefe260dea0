"""Residual streams: what normalizations of tokens read, and the sums that carry it from block to block.

A few channels of such a stream are often a hundred times as large as the others, and the normalization makes the small ones count again:
8 bits for all of them lose those. In networks with such normalizations the stream stays in float; the products that read it take 8 bits.
"""

from __future__ import annotations

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.ops.registry import OPERATORS, Role
from edgec.quant.scope.squares import is_square


def residual_values(graph: Graph) -> frozenset[str]:
    """The values of residual streams; none in a network without normalizations over the last axis.

    What a normalization reads, all that leads there through data movement, sums, differences and Concat, and what is moved of these or of a
    normalization's result.
    """
    found: set[str] = set()
    for node in reversed(graph.nodes):
        found.update(_normalized(graph, node))
        if carries(node) and not found.isdisjoint(node.outputs):
            found.update(name for name in node.inputs if name and name not in graph.constants)
    for node in graph.nodes:
        if _role(node) is Role.NORM or (_role(node) is Role.MOVE and node.inputs[0] in found):
            found.update(name for name in node.outputs if name)
    return frozenset(found)


def carries(node: Node) -> bool:
    """Whether what `node` reads goes on in what it gives: movement, Add, Sub, and Concat, as of a class token with those of a picture."""
    return _role(node) in (Role.MOVE, Role.ADD, Role.CONCAT)


def _role(node: Node) -> Role:
    known = OPERATORS.get(node.op)
    return known.role if known is not None else Role.FLOAT


def _normalized(graph: Graph, node: Node) -> list[str]:
    """What a normalization over the last axis reads: one of Role.NORM, or the mean of squares that others are written with."""
    if _role(node) is Role.NORM:
        return [node.inputs[0]]
    squares = graph.producer(node.inputs[0]) if node.op == "ReduceMean" and _over_the_last_axis(graph, node) else None
    return [squares.inputs[0]] if squares is not None and is_square(graph, squares) else []


def _over_the_last_axis(graph: Graph, node: Node) -> bool:
    axes = graph.constant(node.input(1)) if node.input(1) else np.asarray(node.attributes.get("axes", []))
    rank = len(graph.shape(node.inputs[0]))
    return axes is not None and [int(axis) % rank for axis in axes.ravel()] == [rank - 1]
