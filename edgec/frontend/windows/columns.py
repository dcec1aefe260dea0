"""Windows as columns of a matrix and back: Col2Im, and convolutions whose weights are computed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from edgec.base.budget import spend_constant
from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value, operand
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.frontend.windows.depth import Window
from edgec.ops.matrix import window_extent


def unfolded(x: Value, found: Window) -> Value:
    """[n, c, ...] -> [n, c, taps by axis..., positions by axis...]"""
    rank = len(found["kernel_shape"])
    for axis in range(rank):
        (k, stride, dilation), place = (found[name][axis] for name in ("kernel_shape", "strides", "dilations")), 2 + 2 * axis
        x = x.padded(place, found["pads"][axis], found["pads"][axis + rank])
        count = window_extent(x.shape[place], k, stride, dilation, 0)
        spend_constant(k * count * 8, x.s.where)
        x = x.taken(np.arange(k)[:, None] * dilation + np.arange(count) * stride, place)
    return x.turned(0, 1, *range(2, 2 + 2 * rank, 2), *range(3, 3 + 2 * rank, 2))


def folded(y: Value, image: Sequence[int], found: Window) -> Value:
    """[n, c, taps by axis..., positions by axis...] -> [n, c, ...]: each pixel sums what was taken from it, axis by axis."""
    rank = len(image)
    y = y.turned(0, 1, *(place for axis in range(rank) for place in (2 + axis, 2 + rank + axis)))
    for axis, extent in enumerate(image):
        k, count = y.shape[2 + axis : 4 + axis]
        stride, dilation, before = found["strides"][axis], found["dilations"][axis], found["pads"][axis]
        y = y.reshaped(*y.shape[: 2 + axis], k * count, *y.shape[4 + axis :]).padded(2 + axis, 0, 1)
        spend_constant(extent * k * 8, y.s.where)
        reach = np.arange(extent)[:, None] + before - np.arange(k) * dilation
        known = (reach >= 0) & (reach % stride == 0) & (reach // stride < count)
        places = np.where(known, np.arange(k) * count + reach // stride, k * count)  # else the zero behind them
        places = np.sort(places, axis=1)[:, : max(1, int(known.sum(axis=1).max()))]
        y = y.taken(places, 2 + axis).summed(3 + axis)
    return y


@rule("Col2Im")
def col2im(b: Builder, s: Source) -> None:
    x, image, block = operand(b, s, 0), b.known(s, 1, "image_shape"), b.known(s, 2, "block_shape")
    rank = len(image)
    found = {
        "kernel_shape": block, "strides": s.get("strides") or [1] * rank, "dilations": s.get("dilations") or [1] * rank,
        "pads": s.get("pads") or [0] * (2 * rank),
    }  # fmt: skip
    lengths = [len(found[name]) for name in ("kernel_shape", "strides", "dilations")] + [len(found["pads"]) // 2]
    if len(x.shape) != 3 or set(lengths) != {rank} or min(*image, *block, *found["strides"], *found["dilations"]) < 1:
        raise ModelError(f"blocks {block} of an image {image} do not fit data {list(x.shape)}")
    (n, rows, columns), pads = x.shape, found["pads"]
    counts = [window_extent(image[d], block[d], found["strides"][d], found["dilations"][d], pads[d] + pads[d + rank]) for d in range(rank)]
    if rows % prod(block) or columns != prod(counts):
        raise ModelError(f"blocks {block} of an image {image} lie at {counts} places, data {list(x.shape)} does not fit")
    folded(x.reshaped(n, rows // prod(block), *block, *counts), image, found).end()


def computed_convolution(x: Value, w: Value, bias: str, found: Window, group: int, outputs: Sequence[str]) -> None:
    """Conv as a product of two computed matrices."""
    columns = unfolded(x, found)
    (n, _, *_), rank = columns.shape, len(found["kernel_shape"])
    positions, m = columns.shape[2 + rank :], w.shape[0]
    inner = prod(w.shape[1:])
    y = w.reshaped(group, m // group, inner).of("MatMul", columns.reshaped(n, group, inner, prod(positions)))
    _biased(y.reshaped(n, m, *positions), bias, outputs)


def computed_transposed(x: Value, w: Value, bias: str, found: Window, group: int, outputs: Sequence[str]) -> None:
    """ConvTranspose likewise; `found` has output_padding too."""
    (n, c, *image), (_, m, *kernel) = x.shape, w.shape
    rows = w.reshaped(group, c // group, m * prod(kernel)).turned(0, 2, 1)
    y = rows.of("MatMul", x.reshaped(n, group, c // group, prod(image))).reshaped(n, group * m, *kernel, *image)
    rank, pads = len(kernel), found["pads"]
    whole = [
        (image[d] - 1) * found["strides"][d] + (kernel[d] - 1) * found["dilations"][d] + 1 + found["output_padding"][d]
        - pads[d] - pads[d + rank] for d in range(rank)
    ]  # fmt: skip
    if min(whole) < 1:
        raise ModelError(f"the padding leaves nothing: {whole}")
    _biased(folded(y, whole, found), bias, outputs)


def _biased(y: Value, bias: str, outputs: Sequence[str]) -> None:
    if bias:
        y.b.emit(y.s, "Add", [y.name, Value(y.b, y.s, bias).reshaped(-1, *[1] * (len(y.shape) - 2)).name], outputs)
    else:
        y.b.emit(y.s, "Identity", [y.name], outputs)
