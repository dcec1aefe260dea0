"""Clauses 4 and 15: Conv, ConvTranspose, Gemm and MatMul with constant weights, in exact integers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from edgec.oracle.context import Context, Ending, Run, Step
from edgec.oracle.grid import Array, Grid, centred, exact, settle, usable
from edgec.oracle.model import Node
from edgec.oracle.sums import shaping
from edgec.oracle.window import spread, window


@dataclass(frozen=True)
class MatrixLayer:
    """w: q - zero of the weights with the output channel (of one group) on `axis`; bias and m: one per output channel.

    end: None where the result is a float.
    """

    w: Array
    bias: Array
    m: Array
    source: Grid
    end: Ending | None

    def finish(self, total: Array, axis: int) -> tuple[Array]:
        """Add the bias and scale, to q where the pattern ends so; `axis` of `total` is the output channel."""
        shape = [-1 if d == axis % total.ndim else 1 for d in range(total.ndim)]
        total += self.bias.reshape(shape).astype(total.dtype)
        v = total.astype(np.float32, copy=False)
        with np.errstate(over="ignore"):
            v *= self.m.reshape(shape)
        return (v if self.end is None else settle(v, self.end.grid, self.end.low, self.end.high),)


def matrix(context: Context, node: Node) -> Step | None:
    """The step of a node that matches clause 4, or 15 where codes have 16 bits, else None."""
    prepare = {"Conv": _conv, "ConvTranspose": _conv_transpose, "Gemm": _gemm, "MatMul": _matmul}.get(node.op)
    source, weights = context.grids.get(node.input(0)), context.weights.get(node.input(1))
    end = context.any_ending(node.outputs[0])
    if prepare is None or source is None or weights is None or weights.q.dtype.itemsize != 1:
        return None
    run = prepare(context, node, source, end)
    found = shaping(context, node) if run is not None and end is None and not source.is_wide else None
    if found is not None:
        context.shaped.add(node.outputs[0])
        context.behind |= {found.value: found.m} if found.m is not None else {}
    return run and Step(node, (node.inputs[0],), (end.output if end else node.outputs[0],), run, raw=True)


def _layer(context: Context, node: Node, source: Grid, end: Ending | None, axis: int, copies: int = 1) -> MatrixLayer | None:
    """`axis`: the output channel in the weights; ConvTranspose has `copies` groups of them."""
    found = context.weights[node.inputs[1]].along(axis)
    if found is None:
        return None
    scale, w = np.tile(found[0], copies), found[1]
    wide = source.is_wide or (end is not None and end.grid.is_wide)
    fits = -128 <= w.min(initial=0) <= w.max(initial=0) <= 127 if wide else end is not None or _ends_in_float(context, node, w)
    if not fits:
        return None
    steps = source.scale * scale
    m = steps / end.grid.scale if end else steps
    bias = _bias(context, node.input(2), source.scale, scale)
    if bias is None or not usable(m):
        return None
    split = np.abs(np.moveaxis(w, axis, 0).astype(np.int64)).reshape(w.shape[axis], copies, -1)
    reach = np.abs(bias) + split.sum(2).T.ravel() * (source.high - source.low)
    if bool(np.any(reach >= (2**53 if wide else 2**31))):
        return None
    # Integers below 2^24 are exact in binary32 in whatever order they are summed, below 2^53 in binary64.
    dtype = np.float32 if reach.max(initial=0) < 2**24 else np.float64
    return MatrixLayer(w.astype(dtype), bias, m.astype(np.float32), source, end)


def _ends_in_float(context: Context, node: Node, w: Array) -> bool:
    """Whether clause 4 has a float result for these weights: not, without a function, for depthwise ones."""
    groups = node.get("group", 1)
    inner = {"Conv": w.shape[1], "ConvTranspose": w.shape[0] // groups}.get(node.op, 0)
    return not (groups > 1 and inner == 1) or shaping(context, node) is not None


def _bias(context: Context, name: str, source: np.float32, scale: Array) -> Array | None:
    """Integers at the scales source * scale; None when the bias is not constant or does not have one value per channel."""
    channels = scale.size
    if not name:
        return np.zeros(channels, np.int64)
    given = context.weights.get(name)
    if given is not None and given.q.size == channels and given.q.dtype == np.int32 and not given.zero.any():
        scales = np.broadcast_to(given.scale.ravel(), (channels,)) if given.scale.size in (1, channels) else None
        if scales is not None and np.array_equal(scales, source * scale):
            return given.q.astype(np.int64).ravel()
    value = context.constant(name) if given is None else given.dequantized()
    if value is None or value.size not in (1, channels) or (value.ndim and value.shape[-1] != value.size) or not np.isfinite(value).all():
        return None
    values = np.broadcast_to(value.ravel(), (channels,))
    return np.array([round(exact(b) / (exact(source) * exact(s))) for b, s in zip(values, scale, strict=True)], object).astype(np.int64)


def _conv(context: Context, node: Node, source: Grid, end: Ending | None) -> Run | None:
    layer = _layer(context, node, source, end, 0)
    if layer is None:
        return None
    groups, shape = node.get("group", 1), layer.w.shape
    kernel = shape[2:]
    by_tap = np.moveaxis(layer.w.reshape(groups, shape[0] // groups, shape[1], prod(kernel)), -1, 0)
    by_tap = np.ascontiguousarray(by_tap)  # [tap, group, out, in]

    def run(q: Array) -> tuple[Array]:
        x = centred(q, source, by_tap.dtype)
        place = window(node, x.shape[2:], kernel)
        total = convolve(x, by_tap, place.taps(x, 0))
        return layer.finish(total.reshape(x.shape[0], shape[0], *place.out), 1)

    return run


def convolve(x: Array, by_tap: Array, taps: Iterator[tuple[tuple[int, ...], Array]]) -> Array:
    """Sum over the taps of w[tap] @ pixels, [batch, group, out, pixels]."""
    batch, (_, groups, _, inner) = x.shape[0], by_tap.shape
    total: Array | None = None
    for w, (_, under) in zip(by_tap, taps, strict=True):
        pixels = under.reshape(batch, groups, inner, -1)
        part = w * pixels if inner == 1 else np.matmul(w, pixels)
        if total is None:
            total = part
        else:
            total += part
    assert total is not None
    return total


def _conv_transpose(context: Context, node: Node, source: Grid, end: Ending | None) -> Run | None:
    groups = node.get("group", 1)
    weights = context.weights[node.inputs[1]]
    # The sums of one output channel run over the input channels of its group.
    layer = _layer(context, node, source, end, 1, groups)
    if layer is None:
        return None
    inner, kernel = weights.q.shape[0] // groups, weights.q.shape[2:]
    w = layer.w.reshape(groups, inner, weights.q.shape[1], prod(kernel))
    by_tap = np.ascontiguousarray(w.transpose(3, 0, 2, 1))  # [tap, group, out, in]

    def run(q: Array) -> tuple[Array]:
        return layer.finish(scatter(node, centred(q, source, by_tap.dtype), by_tap, kernel), 1)

    return run


def scatter(node: Node, x: Array, by_tap: Array, kernel: tuple[int, ...]) -> Array:
    """ConvTranspose of x with weights [tap, group, out, in], without bias."""
    _, groups, outs, inner = by_tap.shape
    batch, extents = x.shape[0], x.shape[2:]
    place = spread(node, extents, kernel)
    full = np.zeros((batch, groups * outs, *place.full(extents)), by_tap.dtype)
    pixels = x.reshape(batch, groups, inner, -1)
    for w, tap in zip(by_tap, np.ndindex(*kernel), strict=True):
        full[place.places(extents, tap)] += np.matmul(w, pixels).reshape(batch, groups * outs, *extents)
    return np.ascontiguousarray(full[place.cut()])


def _gemm(context: Context, node: Node, source: Grid, end: Ending | None) -> Run | None:
    if node.get("transA", 0) or node.get("alpha", 1.0) != 1 or node.get("beta", 1.0) != 1:
        return None
    transposed = bool(node.get("transB", 0))
    layer = _layer(context, node, source, end, 0 if transposed else 1)
    return _product(layer, layer.w.T if transposed else layer.w) if layer else None


def _matmul(context: Context, node: Node, source: Grid, end: Ending | None) -> Run | None:
    layer = _layer(context, node, source, end, 1) if context.weights[node.inputs[1]].q.ndim == 2 else None
    return _product(layer, layer.w) if layer else None


def _product(layer: MatrixLayer, w: Array) -> Run:
    w = np.ascontiguousarray(w)

    def run(q: Array) -> tuple[Array]:
        return layer.finish(np.matmul(centred(q, layer.source, w.dtype), w), -1)

    return run
