"""Clause 18: LayerNormalization of q."""

from __future__ import annotations

from math import isqrt

import numpy as np

from edgec.oracle.context import Context, Step
from edgec.oracle.grid import Array, exact, settle, usable
from edgec.oracle.model import Node


def layer_norm(context: Context, node: Node) -> Step | None:
    """The step of a LayerNormalization that matches clause 18, else None."""
    source = context.grid(node.input(0)) if node.op == "LayerNormalization" else None
    end, kind = context.ending(node.outputs[0], activation=False), context.model.types.get(node.input(0))
    if source is None or end is None or kind is None or kind.rank is None or any(node.outputs[1:]):
        return None
    gamma, beta = _known(context, node.input(1)), _known(context, node.input(2))
    n = 0 if gamma is None else gamma.size
    if gamma is None or beta is None or beta.size not in (n, 0) or kind.last not in (n, 0):
        return None
    with np.errstate(over="ignore"):
        g, b = (values / end.grid.scale if values.size else np.zeros(n, np.float32) for values in (gamma, beta))
    epsilon = np.float32(node.get("epsilon", 1e-5))
    if not np.isfinite(epsilon):
        return None
    e = round(2**16 * exact(epsilon) * n * n / exact(source.scale) ** 2)
    if node.get("axis", -1) % kind.rank != kind.rank - 1 or not 1 < n < 2**15:
        return None
    if not 0 <= e < 2**62 or not usable(np.abs(g), np.abs(b)):
        return None

    def run(q: Array) -> tuple[Array]:
        x = q.astype(np.int64)
        total = x.sum(axis=-1, keepdims=True)
        spread = n * (x * x).sum(axis=-1, keepdims=True) - total * total
        r = np.array([_inverse_root(max(1, 2**16 * int(v) + e)) for v in spread.reshape(-1)], np.float32).reshape(spread.shape)
        v = (n * x - total).astype(np.float32) * r
        return (settle(v * g + b, end.grid, end.grid.low, end.grid.high),)

    return Step(node, tuple(node.inputs[:1]), (end.output,), run, raw=True)


def _known(context: Context, name: str) -> Array | None:
    """A scale or bias: a constant, perhaps stored as integers; empty where there is none."""
    if not name:
        return np.zeros(0, np.float32)
    found = context.weights[name].dequantized() if name in context.weights else context.constant(name)
    return found.reshape(-1) if found is not None and found.dtype == np.float32 else None


def _inverse_root(w: int) -> float:
    """2^8 / sqrt(w), cut to 24 bits."""
    places = 0  # w * 4^places has 47 or 48 bits
    while w >> 48:
        w, places = w >> 2, places - 1
    while not w >> 46:
        w, places = w << 2, places + 1
    return 2**47 // isqrt(w) * 2.0 ** (places - 39)
