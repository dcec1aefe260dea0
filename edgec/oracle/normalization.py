"""Clause 18: LayerNormalization of q, and RMSNormalization, which a model has in primitive operators."""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np

from edgec.oracle.context import Context, Step
from edgec.oracle.grid import Array, exact, settle, usable
from edgec.oracle.model import Node


@dataclass(frozen=True)
class _Norm:
    """x and the names of its scale and bias; centered: the mean is taken from x first."""

    x: str
    scale: str
    bias: str
    epsilon: np.float32
    centered: bool


def layer_norm(context: Context, node: Node) -> Step | None:
    """The step of a normalization over the last axis that matches clause 18, else None."""
    norm = _layer(context, node) if node.op == "LayerNormalization" else _root(context, node) if node.op == "Mul" else None
    source = context.grid(norm.x) if norm is not None else None
    end = context.ending(node.outputs[0], activation=False)
    if norm is None or source is None or end is None:
        return None
    gamma, beta, last = _known(context, norm.scale), _known(context, norm.bias), context.model.types[norm.x].last
    n = 0 if gamma is None else gamma.size
    if gamma is None or beta is None or beta.size not in (n, 0) or last not in (n, 0) or not np.isfinite(norm.epsilon):
        return None
    with np.errstate(over="ignore"):
        g, b = (values / end.grid.scale if values.size else np.zeros(n, np.float32) for values in (gamma, beta))
    e = round(2**16 * exact(norm.epsilon) * n * n / exact(source.scale) ** 2)
    if not 1 < n < 2**15 or not 0 <= e < 2**62 or not usable(np.abs(g), np.abs(b)):
        return None

    def run(q: Array) -> tuple[Array]:
        x = q.astype(np.int64)
        u = n * x - (x.sum(axis=-1, keepdims=True) if norm.centered else n * source.zero)
        spread = (u * u).sum(axis=-1, keepdims=True) // n  # of which n is a divisor, whatever is taken from n * x
        r = np.array([_inverse_root(max(1, 2**16 * int(v) + e)) for v in spread.reshape(-1)], np.float32).reshape(spread.shape)
        return (settle(u.astype(np.float32) * r * g + b, end.grid, end.grid.low, end.grid.high),)

    return Step(node, (norm.x,), (end.output,), run, raw=True)


def _layer(context: Context, node: Node) -> _Norm | None:
    kind = context.model.types.get(node.input(0))
    if kind is None or kind.rank is None or node.get("axis", -1) % kind.rank != kind.rank - 1 or any(node.outputs[1:]):
        return None
    return _Norm(node.input(0), node.input(1), node.input(2), np.float32(node.get("epsilon", 1e-5)), True)


def _root(context: Context, node: Node) -> _Norm | None:
    """(x * Reciprocal(Sqrt(ReduceMean(x * x) + epsilon))) * scale, each of these the only one to read the one before it."""
    inner = _made(context, node.inputs[0], "Mul")
    inverse = _made(context, inner.inputs[1], "Reciprocal") if inner is not None else None
    root = _made(context, inverse.inputs[0], "Sqrt") if inverse is not None else None
    total = _made(context, root.inputs[0], "Add") if root is not None else None
    mean = _made(context, total.inputs[0], "ReduceMean") if total is not None else None
    square = _made(context, mean.inputs[0], "Mul") if mean is not None else None
    if inner is None or total is None or mean is None or square is None or set(square.inputs) != {inner.inputs[0]}:
        return None
    epsilon, axes, kind = context.scalar(total.inputs[1]), context.constant(mean.input(1)), context.model.types.get(inner.inputs[0])
    if epsilon is None or axes is None or kind is None or kind.rank is None or not mean.get("keepdims", 1):
        return None
    return (
        _Norm(inner.inputs[0], node.inputs[1], "", epsilon, False)
        if [axis % kind.rank for axis in axes.tolist()] == [kind.rank - 1]
        else None
    )


def _made(context: Context, name: str, op: str) -> Node | None:
    """The node that gives `name`, if it is one of these and another one alone reads it."""
    node = context.model.producers.get(name)
    return node if node is not None and node.op == op and context.model.only_reader(name) is not None else None


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
