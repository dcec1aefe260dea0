"""Conv, ConvTranspose, Gemm and MatMul as one thing: a window over channels-last pixels, times a matrix of weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from edgec.ir.graph import Graph, Node
from edgec.lower import movement
from edgec.lower.builder import Lowering
from edgec.lower.layout import Pixels, pixels, rows
from edgec.lower.trimming import kept
from edgec.lower.values import Extents, Order, Value, channels_last, extents, fixed, row_major
from edgec.program.arguments import LANES, Window
from edgec.program.expr import Expr, bound, const, product


@dataclass(frozen=True)
class Product:
    """The geometry of one node and how its weights become [group][out channel][tap][in channel].

    shape: of the tensor that the kernel writes, image [n, c, h, w] or rows [..., n]. finish: movement from there to the node's own output,
    None when they are the same. vector: per-output-channel numbers [channels of the node] -> [group][out channel].
    """

    groups: int
    in_channels: int
    out_channels: int
    kernel: tuple[int, int]
    strides: tuple[int, int]
    dilations: tuple[int, int]
    pads: tuple[int, int]  # top, left
    shape: Extents
    is_rows: bool
    arrange: Callable[[np.ndarray], np.ndarray]
    vector: Callable[[np.ndarray], np.ndarray]
    finish: Callable[[Value], Value] | None = None
    read: Callable[[Lowering, Value], list[Value]] | None = None  # what the kernel reads of the node's input, side by side; None: that

    @property
    def depthwise(self) -> bool:
        return self.groups > 1 and self.in_channels == self.out_channels == 1

    @property
    def order(self) -> Order:
        return self.order_of(len(self.shape))

    def order_of(self, rank: int) -> Order:
        """Of a tensor's memory, where its channels are neighbours."""
        return row_major(rank) if self.is_rows else channels_last(rank)

    @property
    def channel_axis(self) -> int:
        return -1 if self.is_rows else 1

    def spread(self) -> Product:
        """Depthwise, of an input that holds each channel once for each result: few results of a channel fill no panel of weights."""
        groups, each, taps = self.groups * self.out_channels, self.out_channels, self.kernel[0] * self.kernel[1]
        if self.groups == 1 or self.in_channels > 1 or not 1 < each <= LANES // 2:
            return self
        return replace(
            self, groups=groups, out_channels=1, read=lambda _, value: [_repeated(value, each)],
            arrange=lambda w: self.arrange(w).reshape(groups, 1, taps, 1), vector=lambda v: self.vector(v).reshape(groups, 1),
        )  # fmt: skip

    def pixels(self, value: Value, shape: Extents) -> Pixels | None:
        """`value`'s memory as this product's pixels, None when it does not lie so."""
        if value.view is None:
            return None
        return rows(value.view, shape) if self.is_rows else pixels(value.view, shape)

    def window(self, x: Extents, x_stride: Expr, y_stride: Expr) -> Window:
        batch, (in_height, in_width), (out_height, out_width) = self._extents(x)
        return Window(batch, in_height, in_width, x_stride, out_height, out_width, y_stride,
                      *self.kernel, *self.strides, *self.dilations, *self.pads)  # fmt: skip

    def _extents(self, x: Extents) -> tuple[Expr, tuple[Expr, Expr], tuple[Expr, Expr]]:
        if self.is_rows:
            count = product(x[:-1])
            return const(1), (const(1), count), (const(1), count)
        return x[0], image(x), image(self.shape)

    def macs(self) -> int:
        channels = self.groups * self.out_channels
        per_channel = self.kernel[0] * self.kernel[1] * self.in_channels
        places = bound(product(self.shape[:-1] if self.is_rows else (self.shape[0], *self.shape[2:])))
        return places * channels * per_channel


def _repeated(value: Value, copies: int) -> Value:
    """Each channel so often, one behind the other."""
    shape = value.shape
    each = movement.expand(movement.reshape(value, (*shape[:2], const(1), *shape[2:])), (*shape[:2], const(copies), *shape[2:]))
    return movement.reshape(each, (shape[0], shape[1] * copies, *shape[2:]))


def image(shape: Extents) -> tuple[Expr, Expr]:
    """Height and width of [n, c, w] or [n, c, h, w]."""
    return (const(1), shape[2]) if len(shape) == 3 else (shape[2], shape[3])


def pair(values: list[int], filler: int) -> tuple[int, int]:
    """A one-dimensional window is one of height 1."""
    return (filler, int(values[0])) if len(values) == 1 else (int(values[0]), int(values[1]))


def describe_product(graph: Graph, node: Node) -> Product | None:
    """The Product of a node with a constant weight matrix; None when its form is not covered."""
    rule = _RULES.get(node.op)
    return rule(graph, node) if rule is not None else None


def _conv(graph: Graph, node: Node) -> Product | None:
    shape = graph.types[node.inputs[1]].static_shape
    rank = len(shape) - 2
    if rank > 2:
        return None
    groups, lines = node.attributes["group"], kept(graph, node)
    outputs, inputs, kernel = shape[0] // groups, shape[1], [len(line.taps) for line in lines]
    part = (slice(None), slice(None), *(slice(line.taps.start, line.taps.stop) for line in lines))
    return Product(
        groups, inputs, outputs, pair(kernel, 1), pair(node.attributes["strides"], 1), pair([line.dilation for line in lines], 1),
        pair([line.before for line in lines], 0), extents(graph.shape(node.outputs[0])), False,
        arrange=lambda w: w.reshape(shape)[part].reshape(groups, outputs, inputs, prod(kernel)).transpose(0, 1, 3, 2),
        vector=lambda v: v.reshape(groups, outputs),
    )  # fmt: skip


def _gemm(graph: Graph, node: Node) -> Product | None:
    transposed = node.op == "Gemm" and bool(node.attributes["transB"])
    shape = graph.types[node.inputs[1]].static_shape
    if len(shape) != 2 or len(graph.shape(node.inputs[0])) < 1:
        return None
    inner, outputs = shape[::-1] if transposed else shape
    whole = extents(graph.shape(node.outputs[0]))
    return Product(
        1, inner, outputs, (1, 1), (1, 1), (1, 1), (0, 0), whole, True,
        arrange=lambda w: (w if transposed else w.T).reshape(1, outputs, 1, inner),
        vector=lambda v: np.broadcast_to(v, (outputs,)).reshape(1, outputs),
    )  # fmt: skip


# Transposed convolution: output position o = stride * j + phase - pad takes the taps k with k * dilation = phase + stride * t from input
# j - t. So all phases together are one stride-1 convolution with stride * stride times the channels, then depth to space and a crop.


@dataclass(frozen=True)
class _Axis:
    """One spatial axis of a transposed convolution."""

    stride: int
    dilation: int
    kernel: int
    out: int
    pad: int

    @property
    def taps(self) -> int:
        return -(-((self.kernel - 1) * self.dilation + 1) // self.stride)

    @property
    def skipped(self) -> int:
        """Whole blocks of output that the leading padding cuts off, as far as the window's own padding can express it."""
        return min(self.pad // self.stride, self.taps - 1)

    @property
    def crop(self) -> int:
        return self.pad - self.skipped * self.stride

    @property
    def blocks(self) -> int:
        return -(-(self.out + self.crop) // self.stride)

    def tap(self, phase: int, position: int) -> int | None:
        """The kernel index that window position `position` of output phase `phase` multiplies."""
        reach = phase + self.stride * (self.taps - 1 - position)
        k, rest = divmod(reach, self.dilation)
        return k if rest == 0 and k < self.kernel else None


def _conv_transpose(graph: Graph, node: Node) -> Product | None:
    shape = graph.types[node.inputs[1]].static_shape
    rank = len(shape) - 2
    if rank > 2:
        return None
    groups, inputs, outputs = node.attributes["group"], shape[0] // node.attributes["group"], shape[1]
    whole = extents(graph.shape(node.outputs[0]))
    sizes = [fixed(size) for size in image(whole)]
    strides, dilations = pair(node.attributes["strides"], 1), pair(node.attributes["dilations"], 1)
    kernel, pads = pair(list(shape[2:]), 1), pair(node.attributes["pads"][:rank], 0)
    axes = [_Axis(*facts) for facts in zip(strides, dilations, kernel, sizes, pads, strict=True)]
    phases = strides[0] * strides[1]
    written = (whole[0], const(groups * phases * outputs), const(axes[0].blocks), const(axes[1].blocks))

    def arrange(w: np.ndarray) -> np.ndarray:
        source = w.reshape(groups, inputs, outputs, *kernel)
        result = np.zeros((groups, *strides, outputs, axes[0].taps, axes[1].taps, inputs), w.dtype)
        for place in np.ndindex(*strides, axes[0].taps, axes[1].taps):
            y, x = axes[0].tap(place[0], place[2]), axes[1].tap(place[1], place[3])
            if y is not None and x is not None:
                result[:, place[0], place[1], :, place[2], place[3]] = source[:, :, :, y, x].transpose(0, 2, 1)
        return result.reshape(groups, phases * outputs, axes[0].taps * axes[1].taps, inputs)

    def finish(value: Value) -> Value:
        n, g, o = whole[0], const(groups), const(outputs)
        (sh, sw), (jh, jw) = (const(strides[0]), const(strides[1])), written[2:]
        parts = movement.transpose(movement.reshape(value, (n, g, sh, sw, o, jh, jw)), (0, 1, 4, 5, 2, 6, 3))
        joined = movement.reshape(parts, (n, g * o, jh * sh, jw * sw))
        cropped = movement.sliced(joined, (0, 0, axes[0].crop, axes[1].crop), (1, 1, 1, 1), (n, g * o, *image(whole)))
        return movement.reshape(cropped, whole)

    return Product(
        groups, inputs, phases * outputs, (axes[0].taps, axes[1].taps), (1, 1), (1, 1),
        (axes[0].taps - 1 - axes[0].skipped, axes[1].taps - 1 - axes[1].skipped), written, False, arrange,
        vector=lambda v: np.tile(v.reshape(groups, 1, outputs), (1, phases, 1)).reshape(groups, phases * outputs), finish=finish,
    )  # fmt: skip


_RULES: dict[str, Callable[[Graph, Node], Product | None]] = {
    "Conv": _conv, "ConvTranspose": _conv_transpose, "Gemm": _gemm, "MatMul": _gemm,
}  # fmt: skip
