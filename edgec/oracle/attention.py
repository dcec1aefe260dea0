"""Clauses 16 and 17: MatMul of two operands that are q, and Softmax of q."""

from __future__ import annotations

import numpy as np

from edgec.oracle.context import Context, Step
from edgec.oracle.functions import PLAIN, Special
from edgec.oracle.grid import Array, centred, exact, settle, usable
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


def softmax(context: Context, node: Node) -> Step | None:
    """The step of a Softmax that matches clause 17, else None."""
    source = context.grid(node.input(0)) if node.op == "Softmax" else None
    end, kind = context.ending(node.outputs[0], activation=False), context.model.types.get(node.input(0))
    if source is None or end is None or kind is None or kind.rank is None:
        return None
    with np.errstate(over="ignore"):
        inverse = np.float32(1) / end.grid.scale
    if node.get("axis", -1) % kind.rank != kind.rank - 1 or kind.last >= 2**15 or not usable(inverse):
        return None
    table = _powers(source.scale)

    def run(q: Array) -> tuple[Array]:
        wide = q.astype(np.int64)
        e = table[wide.max(axis=-1, keepdims=True) - wide]
        m = inverse / e.sum(axis=-1, keepdims=True).astype(np.float32)
        return (settle(e.astype(np.float32) * m, end.grid, end.grid.low, end.grid.high),)

    return Step(node, node.inputs, (end.output,), run, raw=True)


def _powers(scale: np.float32) -> Array:
    """rint(2^16 * exp(-d * scale)) for d from 0 to 255."""
    values = [PLAIN["Exp"](-d * exact(scale)) for d in range(256)]
    return np.array([0 if isinstance(value, Special) else round(2**16 * value) for value in values], np.int64)
