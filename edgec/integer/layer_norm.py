"""Clause 18: LayerNormalization and RMSNormalization from codes to codes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from edgec.integer.grid import is_known, known_number, usable
from edgec.integer.operators import LayerNorm, Operand, Tail
from edgec.ir.graph import Graph, Node

LONGEST = 2**15 - 1  # a row whose exact sum of squares fits int32
UNIT = 2**16  # of the variance, in squares of codes times squares of the row's length
LIMIT = 2**62  # of epsilon in that unit


def layer_norm_refusal(graph: Graph, node: Node) -> str:
    """Why clause 18 cannot compute this normalization, whatever its grids are; "" when it can."""
    if node.attributes["axis"] % len(graph.shape(node.inputs[0])) != len(graph.shape(node.inputs[0])) - 1:
        return f"a {node.op} over other axes than the last"
    if any(node.outputs[1:]):
        return f"a {node.op} that gives its means or deviations too"
    count = graph.types[node.inputs[0]].static_shape[-1]
    if not all(is_known(graph, name) and graph.types[name].elements == count for name in node.inputs[1:] if name):
        return "its scale and bias are not a constant for each element"
    return "" if 1 < count <= LONGEST else "its rows are too long for exact sums" if count > 1 else "its rows have one element"


def layer_norm_of(graph: Graph, node: Node, source: Operand, tail: Tail) -> LayerNorm | str:
    """The operator, or why clause 18 does not compute `node`."""
    why = layer_norm_refusal(graph, node)
    if why:
        return why
    count = graph.types[node.inputs[0]].static_shape[-1]
    given = float(np.float32(node.attributes["epsilon"]))
    if not np.isfinite(given):
        return "its epsilon is no number"
    epsilon = round(UNIT * Fraction(given) * (count / Fraction(float(source.grid.scale))) ** 2)
    if not 0 <= epsilon < LIMIT:
        return "its epsilon is out of all proportion to its codes"
    scale, offset = (_by_element(graph, node.input(place), count, tail) for place in (1, 2))
    if not usable(*np.abs(scale), *np.abs(offset)):
        return "a multiplier is above 2^64"
    return LayerNorm(node, (source,), tail, node.op == "LayerNormalization", count, epsilon, scale, offset)


def _by_element(graph: Graph, name: str, count: int, tail: Tail) -> np.ndarray:
    """The scale or the bias of every element of a row, in steps of the result."""
    known = known_number(graph, name) if name else np.zeros(count, np.float32)
    assert known is not None
    with np.errstate(over="ignore"):
        return np.asarray(known.astype(np.float32).reshape(-1) / np.float32(tail.grid.scale))
