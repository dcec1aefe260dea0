"""Clause 16: MatMul of two operands that are q."""

from __future__ import annotations

import numpy as np

from edgec.oracle.context import Context, Step
from edgec.oracle.grid import Array, centred, settle, usable
from edgec.oracle.model import Node


def pair_product(context: Context, node: Node) -> Step | None:
    """The step of a MatMul that matches clause 16, else None."""
    if node.op != "MatMul" or node.inputs[1] in context.weights:
        return None
    a, b = (context.grid(name) for name in node.inputs)
    types = [context.model.types.get(name) for name in node.inputs]
    if a is None or b is None or any(kind is None or kind.rank is None or kind.rank < 2 for kind in types):
        return None
    end, inner = context.ending(node.outputs[0]), types[0].last if types[0] else 0
    with np.errstate(over="ignore"):
        unit = a.scale * b.scale
        m = unit / end.grid.scale if end else unit
    if inner * 255 * 255 >= 2**31 or not usable(m):
        return None

    def run(x: Array, y: Array) -> tuple[Array]:
        total = np.matmul(centred(x, a, np.float64), centred(y, b, np.float64))  # integers below 2^53 are exact
        v = total.astype(np.float32) * m
        return (v if end is None else settle(v, end.grid, end.low, end.high),)

    return Step(node, node.inputs, (end.output if end else node.outputs[0],), run, raw=True)
