"""Clauses 5 to 8: Add, Sub, Mul, Concat, the largest of windows, averages and requantization of q."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from edgec.oracle.context import Context, Ending, Run, Step
from edgec.oracle.grid import Array, Grid, centred, requantize, settle, usable
from edgec.oracle.model import Node, integers
from edgec.oracle.window import window

f32 = np.float32


def integer_step(context: Context, node: Node) -> Step | None:
    """The step of a node that matches clauses 5 to 8, else None."""
    rule = RULES.get(node.op)
    return rule(context, node) if rule else None


def _binary(context: Context, node: Node) -> Step | None:
    a, b = (context.grid(name) for name in node.inputs)
    end = context.ending(node.outputs[0])
    if a is None or b is None or end is None:
        return None
    with np.errstate(over="ignore"):
        scales = [a.scale * b.scale / end.grid.scale] if node.op == "Mul" else [a.scale / end.grid.scale, b.scale / end.grid.scale]
    if not usable(*scales):
        return None
    if node.op == "Mul":
        run = _multiply(a, b, scales[0], end)
    else:
        run = _add(a, b, scales[0], -scales[-1] if node.op == "Sub" else scales[-1], end)
    return Step(node, node.inputs, (end.output,), run, raw=True)


def _add(a: Grid, b: Grid, m_a: np.float32, m_b: np.float32, end: Ending) -> Run:
    """Clause 5."""
    return lambda x, y: (settle(centred(x, a) * m_a + centred(y, b) * m_b, end.grid, end.low, end.high),)


def _multiply(a: Grid, b: Grid, m: np.float32, end: Ending) -> Run:
    """Clause 6; the product of two 9-bit integers is exact in binary32."""
    return lambda x, y: (settle(centred(x, a) * centred(y, b) * m, end.grid, end.low, end.high),)


def _concat(context: Context, node: Node) -> Step | None:
    """Clause 7 for operands of different grids; those of one grid are data movement."""
    found = [context.grid(name) for name in node.inputs]
    grids = [grid for grid in found if grid is not None]
    end = context.ending(node.outputs[0], activation=False)
    if len(grids) < len(found) or end is None or len(set(grids)) == 1 or not _reachable(grids, end.grid):
        return None
    target, axis = end.grid, node.attributes["axis"]

    def run(*parts: Array) -> tuple[Array]:
        return (np.concatenate([requantize(q, grid, target) for q, grid in zip(parts, grids, strict=True)], axis),)

    return Step(node, node.inputs, (end.output,), run, raw=True)


def _reachable(sources: list[Grid], target: Grid) -> bool:
    with np.errstate(over="ignore"):
        return usable(*(source.scale / target.scale for source in sources))


def _requantize(context: Context, node: Node) -> Step | None:
    """Clause 7: a QuantizeLinear that reads q."""
    source, target = context.grid(node.inputs[0]), context.parameters(node)
    if source is None or target is None or not _reachable([source], target):
        return None
    return Step(node, (node.inputs[0],), (node.outputs[0],), lambda q: (requantize(q, source, target),), raw=True)


def maximum_of_windows(node: Node, x: Array) -> Array:
    """MaxPool of q; padding is the least value, which never wins. Of floats, m = m > x ? m : x over the pixels inside, from -inf."""
    place = window(node, x.shape[2:], node.attributes["kernel_shape"])
    least = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    best: Array = np.full((*x.shape[:2], *place.out), least, x.dtype)
    inside = (there for _, there in place.taps(np.ones((1, 1, *x.shape[2:]), bool), False))
    for (_, under), there in zip(place.taps(x, least), inside, strict=True):
        best = np.where((best > under) | ~there, best, under)
    return best


def _max_pool(context: Context, node: Node) -> Step | None:
    grid = context.grid(node.inputs[0])
    if grid is None or len([name for name in node.outputs if name]) > 1:
        return None
    return Step(node, node.inputs, node.outputs, lambda q: (maximum_of_windows(node, q),), raw=True, grids=(grid,))


def _global_max(context: Context, node: Node) -> Step | None:
    """One window that is the whole image."""
    grid, rank = context.grid(node.inputs[0]), context.rank(node.inputs[0])
    if grid is None or rank is None or rank > 4:
        return None
    return Step(node, node.inputs, node.outputs, lambda q: (q.max(tuple(range(2, rank)), keepdims=True),), raw=True, grids=(grid,))


def _average(context: Context, node: Node) -> Step | None:
    """Clause 8."""
    source, end = context.grid(node.inputs[0]), context.ending(node.outputs[0])
    if source is None or end is None:
        return None
    with np.errstate(over="ignore"):
        ratio = source.scale / end.grid.scale
    sums = {"AveragePool": _pool_sums, "GlobalAveragePool": _global_sums, "ReduceMean": _reduce_sums}[node.op](context, node)
    if sums is None or not usable(ratio):
        return None

    def run(q: Array, *_: Array) -> tuple[Array]:
        total, n = sums(centred(q, source, np.int64))
        return (settle(total.astype(np.float32) * (ratio / np.asarray(n, np.float32)), end.grid, end.low, end.high),)

    return Step(node, node.inputs[:1], (end.output,), run, raw=True)


Sums = Callable[[Array], tuple[Array, Array | int]]


def _pool_sums(context: Context, node: Node) -> Sums:
    def sums(x: Array) -> tuple[Array, Array | int]:
        place = window(node, x.shape[2:], node.attributes["kernel_shape"])
        total = np.zeros((*x.shape[:2], *place.out), np.int64)
        for _, under in place.taps(x, 0):
            total += under
        return total, place.counts(bool(node.get("count_include_pad", 0)))

    return sums


def _global_sums(context: Context, node: Node) -> Sums:
    return lambda x: (x.sum(tuple(range(2, x.ndim)), keepdims=True), int(np.prod(x.shape[2:])))


def _reduce_sums(context: Context, node: Node) -> Sums | None:
    """Only over all the spatial axes, 2 and up."""
    rank = context.rank(node.inputs[0])
    axes = integers(context.constant(node.input(1))) if node.input(1) else list(node.get("axes") or [])
    if rank is None or rank < 3 or sorted(axis % rank for axis in axes) != list(range(2, rank)):
        return None
    keep = bool(node.get("keepdims", 1))
    return lambda x: (x.sum(tuple(range(2, rank)), keepdims=keep), int(np.prod(x.shape[2:])))


RULES: dict[str, Callable[[Context, Node], Step | None]] = {
    "Add": _binary, "Sub": _binary, "Mul": _binary, "Concat": _concat, "QuantizeLinear": _requantize, "MaxPool": _max_pool,
    "GlobalMaxPool": _global_max, "AveragePool": _average, "GlobalAveragePool": _average, "ReduceMean": _average,
}  # fmt: skip
