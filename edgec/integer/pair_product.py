"""Clause 16: the integers of MatMul where the second operand is no constant."""

from __future__ import annotations

import numpy as np

from edgec.integer.grid import is_known, ratio, usable
from edgec.integer.operators import Operand, PairProduct, Tail
from edgec.ir.graph import Graph, Node

LIMIT = 2**31


def is_pair(graph: Graph, node: Node) -> bool:
    """Whether this is a MatMul of two operands of at least two axes each, the second one computed."""
    return node.op == "MatMul" and not is_known(graph, node.inputs[1]) and all(len(graph.shape(name)) > 1 for name in node.inputs)


def pair_refusal(graph: Graph, node: Node) -> str:
    """Why clause 16 cannot compute this product, whatever its grids are; "" when it can."""
    inner = graph.types[node.inputs[0]].static_shape[-1]
    return "the integer accumulator could overflow" if inner * 255 * 255 >= LIMIT else ""


def pair_product_of(graph: Graph, node: Node, operands: tuple[Operand, ...], tail: Tail | None) -> PairProduct | str:
    """The operator, or why clause 16 does not compute `node`."""
    why = pair_refusal(graph, node)
    if why:
        return why
    with np.errstate(over="ignore"):
        unit = np.float32(operands[0].grid.scale * operands[1].grid.scale)
    multiplier = ratio(unit, tail.grid.scale) if tail else unit
    return PairProduct(node, operands, tail, multiplier) if usable(multiplier) else "a multiplier is above 2^64"
