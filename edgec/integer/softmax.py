"""Clause 17: Softmax over the last axis, from codes to codes."""

from __future__ import annotations

import numpy as np

from edgec.integer.grid import usable
from edgec.integer.operators import Operand, Softmax, Tail
from edgec.ir.graph import Graph, Node

LONGEST = 2**15 - 1  # a row whose exact sum fits int32


def softmax_refusal(graph: Graph, node: Node) -> str:
    """Why clause 17 cannot compute this Softmax, whatever its grids are; "" when it can."""
    shape = graph.types[node.inputs[0]].static_shape
    if node.attributes["axis"] % len(shape) != len(shape) - 1:
        return "a Softmax over another axis than the last"
    return "its rows are too long for exact sums" if shape[-1] > LONGEST else ""


def softmax_of(graph: Graph, node: Node, source: Operand, tail: Tail) -> Softmax | str:
    """The operator, or why clause 17 does not compute `node`."""
    why = softmax_refusal(graph, node)
    if why:
        return why
    with np.errstate(over="ignore"):
        inverse = np.float32(1) / np.float32(tail.grid.scale)
    return Softmax(node, (source,), tail, inverse) if usable(inverse) else "a multiplier is above 2^64"
