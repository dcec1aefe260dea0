"""Convolutions and matrix products of floats."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from edgec.kernels.convolution import (
    PANELS_PER_ITEM,
    by_output,
    conv_reach,
    conv_scratch,
    dense_weights,
    even_items,
    pack_by_panels,
    padded_panels,
)
from edgec.kernels.few_outputs import FEW
from edgec.kernels.variants import Packing, Variant
from edgec.kernels.vectors import AHEAD, MERGED, TALL, TALL_AHEAD, TILES
from edgec.kernels.windows import POINTER_BYTES, lines, residual_reach
from edgec.kernels.winograd_float import WINOGRAD
from edgec.program.arguments import PIXEL_BLOCK, Arguments, Size, Window, pointer, real, size
from edgec.program.expr import Const, Number, expr
from edgec.program.program import Pointer

VECTOR = 4  # inputs that one load brings where rows of the window are merged
HEAVY = 1 << 18  # bytes of weights that caches hardly keep from run to run, with those of other layers
SET_PERIOD = 4096  # bytes after which lines share a set of most first caches


@dataclass(frozen=True)
class ConvFloat(Arguments):
    """y = clamp(bias + sum x * w + residual, low, high); -inf and +inf mean no clamp.

    weights: [group][panel of 16][tap][in_channels][16] float, bias: [group][panels * 16], zero padded. Padding is 0.
    """

    kernel: ClassVar[str] = "conv_float"
    template: ClassVar[str] = "conv_float/panels"
    window: Window
    x: Pointer = pointer("const float")
    weights: Pointer = pointer("const float")
    bias: Pointer = pointer("const float")
    y: Pointer = pointer("float")
    residual: Pointer | None = pointer("const float")
    residual_pixel_stride: Size = size()
    groups: int = size()
    in_channels: int = size()
    out_channels: int = size()
    low: float = real()
    high: float = real()
    held_panels: int = size(PANELS_PER_ITEM)  # by which pixels are multiplied in one walk: whole items
    fetches: int = size(0)  # whether the inputs of the pixels that come next are fetched meanwhile

    def reach(self) -> dict[str, Number]:
        return conv_reach(self, dense_weights(self)) | {"residual": residual_reach(self)}


def pack_float(weights: np.ndarray) -> np.ndarray:
    """[group][panel][tap][in][16] float32, missing output channels zero."""
    return np.ascontiguousarray(padded_panels(weights, weights.shape[3], np.float32).transpose(0, 1, 3, 4, 2)).reshape(-1)


PACKING = Packing("panels of 16", {"weights": lambda arguments, plain, _: pack_float(by_output(arguments, plain)), "bias": pack_by_panels})


def _admits_tall(arguments: ConvFloat) -> bool:
    """Pixels whose inputs do not all compete for one set of a first cache, which has fewer lines than the tile has pixels."""
    stride = expr(arguments.window.in_pixel_stride)
    return isinstance(stride, Const) and 4 * int(stride.value) % SET_PERIOD != 0


def _is_heavy(arguments: ConvFloat) -> bool:
    """Layers whose time depends on where their weights come from."""
    return 4 * dense_weights(arguments) >= HEAVY


def _admits_tall_and_heavy(arguments: ConvFloat) -> bool:
    return _admits_tall(arguments) and _is_heavy(arguments)


def admits_merged(arguments: ConvFloat) -> bool:
    """Pixels of a vector's channels at most, one after the other, of which a row of the window has a vector at least."""
    w = arguments.window
    stride = expr(w.in_pixel_stride)
    dense = isinstance(stride, Const) and int(stride.value) == arguments.in_channels <= VECTOR <= w.kernel_width * arguments.in_channels
    return dense and arguments.groups == 1 and w.kernel_width > 1 and w.dilation_width == 1


def merged_scratch(element: int) -> Callable[[Any, Collection[str]], int]:
    """Bytes of pointers to the rows under a block of pixels, a row of padding, and rows that leave the image, of such elements."""

    def scratch(arguments: ConvFloat, _: Collection[str]) -> int:
        w = arguments.window
        pointers, rows = w.kernel_height * PIXEL_BLOCK, 1 + w.kernel_height * PIXEL_BLOCK
        return lines(POINTER_BYTES * pointers) + lines(element * w.kernel_width * arguments.in_channels * rows)

    return scratch


VARIANTS = (
    FEW,
    WINOGRAD,
    Variant("merged", even_items, merged_scratch(4), MERGED, PACKING, admits_merged),
    Variant("tall_ahead", even_items, conv_scratch(4), TALL_AHEAD, PACKING, _admits_tall_and_heavy),
    Variant("tall", even_items, conv_scratch(4), TALL, PACKING, _admits_tall),
    Variant("ahead", even_items, conv_scratch(4), AHEAD, PACKING, _is_heavy),
    Variant("panels", even_items, conv_scratch(4), TILES, PACKING),
)
