"""Convolutions and matrix products of codes with 8-bit weights, that requantize, with a function before it or not, or end in float."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from edgec.kernels.convolution import (
    PANELS_PER_ITEM,
    by_output,
    conv_items,
    conv_reach,
    conv_scratch,
    dense_weights,
    lanes_of,
    pack_by_panels,
    padded_panels,
    round_up,
)
from edgec.kernels.functions import with_functions
from edgec.kernels.matrix_int8 import TILES as MATRIX_TILES
from edgec.kernels.matrix_int8 import MatrixTile, input_multiple
from edgec.kernels.variants import Packing, Variant
from edgec.kernels.windows import lines, residual_reach, taps
from edgec.program.arguments import LANES, PIXEL_BLOCK, Arguments, Size, Window, pointer, real, size
from edgec.program.expr import Number
from edgec.program.program import Pointer


@dataclass(frozen=True)
class ConvTile(MatrixTile):
    """A tile whose height depends on its width, as `heights` says in the manner of `rows`, for 1 to `panels` panels.

    split: of how many panels the next tile is, by how many of a work item are left, from 1 on; at most `narrow` where their weights
    would be more than `held` bytes, and leave the first-level cache before the next pixels need them.
    together: so many registers of sums become one register of codes.
    """

    template: ClassVar[str] = "conv_int8_panels.j2"
    heights: tuple[tuple[int, ...], ...] = ()
    split: tuple[int, ...] = ()
    narrow: int = 2
    held: int = 32 * 1024
    together: int = 1


def _tile(tile: MatrixTile) -> ConvTile:
    """One that is as high for any width."""
    split = tuple(min(left, tile.panels) for left in range(1, PANELS_PER_ITEM + 1))
    return ConvTile(**vars(tile), heights=(tile.rows,) * tile.panels, split=split)


class PaddedInputs(Arguments):
    """Arguments of kernels whose packed weights may have more channels than a pixel."""

    weights: Pointer

    def reads_past(self, size_of: Callable[[str], int]) -> bool:
        return size_of(self.weights.buffer) != dense_weights(self)


@dataclass(frozen=True)
class ConvInt8(PaddedInputs):
    """y = requantize(bias + sum (x - zero_x) * w), optionally + residual: implicit GEMM, any group count.

    weights: [group][panel of 16 output channels][tap][ceil(in_channels, multiple) / 4][16][4] int8, zero padded.
    bias: int32 [group][panels * 16], already holding bias - zero_x * sum of weights. scale: float, same shape.
    y = clamp(rint(fl32(acc) * scale), low - zero_y, high - zero_y) + zero_y. With a residual r (same pixels, channels):
    first v = that value - zero_y, then y = clamp(rint(fl32(v * add_scale) + fl32((r - residual_zero) * residual_scale)),
    add_low - add_zero, add_high - add_zero) + add_zero. Reads up to multiple - 1 bytes past a pixel's channels.
    """

    kernel: ClassVar[str] = "conv_int8"
    template: ClassVar[str] = "conv_int8"
    window: Window
    x: Pointer = pointer("const activation")
    weights: Pointer = pointer("const int8_t")
    bias: Pointer = pointer("const int32_t")
    scale: Pointer = pointer("const float")
    y: Pointer = pointer("activation")
    residual: Pointer | None = pointer("const activation")
    residual_pixel_stride: Size = size()
    groups: int = size()
    in_channels: int = size()  # of one group
    out_channels: int = size()  # of one group
    zero_x: int = size()
    zero_y: int = size()
    low: int = size()
    high: int = size()
    add_scale: float = real()
    residual_scale: float = real()
    residual_zero: int = size()
    add_zero: int = size()
    add_low: int = size()
    add_high: int = size()

    def reach(self) -> dict[str, Number]:
        return conv_reach(self, dense_weights(self)) | {"scale": lanes_of(self), "residual": residual_reach(self)}


@dataclass(frozen=True)
class ConvInt8Float(PaddedInputs):
    """y = fl32(acc) * scale in float, of the sums that ConvInt8 has: its weights and bias, no residual, the same reading past a pixel."""

    kernel: ClassVar[str] = "conv_int8_float"
    template: ClassVar[str] = "conv_int8_float"
    window: Window
    x: Pointer = pointer("const activation")
    weights: Pointer = pointer("const int8_t")
    bias: Pointer = pointer("const int32_t")
    scale: Pointer = pointer("const float")
    y: Pointer = pointer("float")
    groups: int = size()
    in_channels: int = size()  # of one group
    out_channels: int = size()  # of one group
    zero_x: int = size()

    def reach(self) -> dict[str, Number]:
        return conv_reach(self, dense_weights(self)) | {"scale": lanes_of(self)}


@dataclass(frozen=True)
class ConvInt8Function(PaddedInputs):
    """ConvInt8 without a residual, and with a function of edgec/program/functions.py before it quantizes; a class for each, below.

    y = clamp(rint(fl32(f(fl32(fl32(acc) * scale)) * inverse)), low - zero_y, high - zero_y) + zero_y.
    """

    kernel: ClassVar[str] = "conv_int8"
    template: ClassVar[str] = "conv_int8"
    function: ClassVar[str] = ""  # its name in FUNCTIONS
    window: Window
    x: Pointer = pointer("const activation")
    weights: Pointer = pointer("const int8_t")
    bias: Pointer = pointer("const int32_t")
    scale: Pointer = pointer("const float")
    y: Pointer = pointer("activation")
    groups: int = size()
    in_channels: int = size()  # of one group
    out_channels: int = size()  # of one group
    zero_x: int = size()
    zero_y: int = size()
    low: int = size()
    high: int = size()
    inverse: float = real()  # 1 / the scale of y
    alpha: float = real()
    beta: float = real()

    def reach(self) -> dict[str, Number]:
        return conv_reach(self, dense_weights(self)) | {"scale": lanes_of(self)}


CONV_INT8_FUNCTION = with_functions(ConvInt8Function)


def pack_int8(weights: np.ndarray, multiple: int) -> np.ndarray:
    """[group][panel][tap][in / 4][16][4] int8, in channels padded to multiple with zeros."""
    inputs = weights.shape[3]
    padded = padded_panels(weights, round_up(inputs, multiple), np.int8)
    blocks = padded.reshape(*padded.shape[:-1], -1, 4)
    return np.ascontiguousarray(blocks.transpose(0, 1, 3, 4, 2, 5)).reshape(-1)


PACKING = Packing(
    "panels of 16x4",
    {
        "weights": lambda arguments, plain, multiple: pack_int8(by_output(arguments, plain), multiple),
        "bias": pack_by_panels,
        "scale": pack_by_panels,
    },
    input_multiple,
)
TILES = {vocabulary: _tile(tile) for vocabulary, tile in MATRIX_TILES.items()} | {
    "avxvnni": ConvTile((6, 3, 2, 1), 2, 2, heights=((6, 2, 1), (3, 2, 1)), split=(1, 2) * 4, narrow=1, together=2),
    # 31 registers at most: sums, weights and the pixel that passes
    "avx512vnni": ConvTile(
        (14, 7, 4, 1), 4, 1, heights=((14, 7, 1), (14, 7, 1), (7, 1), (4, 1)), split=(1, 2, 3, 4, 3, 3, 4, 4), together=4
    ),
}
HEADERS = {"avxvnni": ("int8_packed_avx2.h",), "avx512vnni": ("int8_packed_avx512.h",)}


@dataclass(frozen=True)
class WidenedTile:
    """A panel's channels / `parts` of `rows` pixels, the most first, in `units` registers a pixel; `held` codes are widened at once."""

    template: ClassVar[str] = "conv_int8_widened.j2"
    rows: tuple[int, ...]
    parts: int
    units: int
    held: int = 12 * 1024

    @property
    def pixels(self) -> int:
        """Those of a block, in whole tiles."""
        return round_up(PIXEL_BLOCK, self.rows[0])


def _widened_scratch(arguments: Any) -> int:
    """Tap pointers, a pixel of padding, sums of a block by a panel, and widened codes."""
    steps = max(tile.k_step for tile in MATRIX_TILES.values())
    depth = taps(arguments.window) * round_up(arguments.in_channels, 4 * steps)
    codes = max(min(tile.pixels * depth, max(tile.held, tile.rows[0] * depth)) for tile in WIDENED.values())
    sums = max(tile.pixels for tile in WIDENED.values()) * LANES
    return conv_scratch(arguments, 1) + 4 * sums + lines(2 * codes)


WIDENED = {"avx2": WidenedTile((6, 2, 1), 2, 2)}
WIDENED_HEADERS = {"avx2": ("int8_packed_avx2.h", "int8_widened_avx2.h")}


def _merged_inputs(arguments: Any) -> int:
    """Codes under a window, as they are padded to at most."""
    return round_up(taps(arguments.window) * arguments.in_channels, max(input_multiple([name]) for name in MATRIX_TILES))


def _merged_scratch(arguments: Any) -> int:
    return lines(8 * PIXEL_BLOCK) + lines(PIXEL_BLOCK * (_merged_inputs(arguments) + 16)) + _widened_scratch(arguments)


def merges(arguments: Any) -> bool:
    """Windows over images of few channels, whose rows are next to each other in memory."""
    w: Window = arguments.window
    return (
        arguments.groups == 1
        and arguments.in_channels in (1, 2, 3)
        and w.in_pixel_stride == arguments.in_channels
        and w.kernel_width > 1
        and w.dilation_width == 1
    )


def _pack_merged(arguments: Any, plain: np.ndarray, multiple: int) -> np.ndarray:
    return pack_int8(plain.reshape(1, arguments.out_channels, 1, -1), multiple)


MERGED_PACKING = Packing(
    "panels of 16x4, taps as inputs",
    {**PACKING.pack, "weights": _pack_merged},
    input_multiple,
    {"weights": lambda arguments: lanes_of(arguments) * taps(arguments.window) * arguments.in_channels},
)
MERGED_HEADERS = {name: (*HEADERS.get(name, ()), *WIDENED_HEADERS.get(name, ()), "int8_merged.h") for name in TILES}
MERGED = Variant("merged", conv_items, _merged_scratch, {**TILES, **WIDENED}, MERGED_PACKING, merges, "conv_int8_merged", MERGED_HEADERS)
VARIANTS = (
    Variant(
        "widened",
        conv_items,
        _widened_scratch,
        WIDENED,
        PACKING,
        template="conv_int8_widened",
        headers=WIDENED_HEADERS,
    ),
    Variant("panels", conv_items, lambda arguments: conv_scratch(arguments, 1), TILES, PACKING, headers=HEADERS),
)
