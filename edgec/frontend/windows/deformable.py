"""DeformConv: what lies under each tap of its windows, sampled, as the channels of a convolution with a window of 1."""

from __future__ import annotations

from math import prod

import numpy as np

from edgec.base.errors import ModelError
from edgec.frontend.translation.builder import Builder
from edgec.frontend.translation.formula import Value, operand
from edgec.frontend.translation.rules import rule
from edgec.frontend.translation.source import Source
from edgec.frontend.windows.columns import computed_convolution
from edgec.frontend.windows.depth import Window, convolve
from edgec.frontend.windows.sampling import FAR, rows_of, sampled, taps
from edgec.frontend.windows.window import window
from edgec.ops.matrix import window_extent


def deformed(x: Value, offset: Value, mask: Value | None, found: Window, groups: int) -> Value:
    """[n, c * taps, positions...]: what lies under each tap of a window, that is moved by its own offset and weighed by its mask."""
    (n, c, *image), kernel = x.shape, found["kernel_shape"]
    places, count = offset.shape[2:], prod(kernel)
    moves = offset.reshaped(n, groups, count, 2, *places)
    axes = []
    for axis, size in enumerate(image):
        tap = np.indices(kernel)[axis].reshape(-1, 1, 1) * found["dilations"][axis]
        start = np.indices(places)[axis] * found["strides"][axis] - found["pads"][axis]
        position = moves.at(3, axis) + moves.numbers(tap + start)
        axes.append(taps(position.clipped(-FAR, size + FAR).turned(0, 1, 3, 4, 2), size, "linear", "zeros"))
    images = x.constant(np.arange(n * groups, dtype=np.int32).reshape(n, groups, 1, 1, 1))
    y = sampled(rows_of(x.reshaped(n * groups, c // groups, *image)), images, axes)
    if mask is not None:
        y = y * mask.reshaped(n, groups, count, *places).turned(0, 1, 3, 4, 2).spread(5)
    return y.turned(0, 1, 5, 4, 2, 3).reshaped(n, c * count, *places)


@rule("DeformConv")
def deform_conv(b: Builder, s: Source) -> None:
    """inputs: x, weights, offset, bias, mask; two spatial axes"""
    x, w, offset = (operand(b, s, index) for index in range(3))
    mask, found, groups = Value(b, s, s.input(4)) if s.input(4) else None, window(b, s), s.attributes["offset_group"]
    if len(x.shape) != 4 or x.shape[1] % groups or offset.shape[1] != 2 * groups * prod(found["kernel_shape"]):
        raise ModelError(f"offsets {list(offset.shape)} in {groups} groups do not fit data {list(x.shape)}")
    pads, strides, dilations = found["pads"], found["strides"], found["dilations"]
    wanted = [window_extent(x.shape[2 + d], w.shape[2 + d], strides[d], dilations[d], pads[d] + pads[d + 2]) for d in range(2)]
    if list(offset.shape[2:]) != wanted or offset.shape[0] != x.shape[0]:
        raise ModelError(f"offsets {list(offset.shape)} do not fit {wanted} places of windows")
    y = deformed(x, offset, mask, found, groups)
    matrix = w.reshaped(w.shape[0], prod(w.shape[1:]), 1, 1)
    whole = {"kernel_shape": [1, 1], "strides": [1, 1], "dilations": [1, 1], "pads": [0] * 4}
    (computed_convolution if b.inputs_behind(w.name) else convolve)(y, matrix, s.input(3), whole, s.attributes["group"], s.outputs)
