"""Winograd's F(2x2, 3x3) of codes, exactly: 16 products for 4 results of each channel, where convolving takes 36.

Weights are those of panels, and become what they are at the 16 points while the layer runs: that takes a few instructions for each, which
all tiles of a block share, and packages stay as small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from edgec.kernels.convolution import panel_count, round_up
from edgec.kernels.matrix_int8 import TILES as MATRIX_TILES
from edgec.kernels.matrix_int8 import input_multiple
from edgec.kernels.windows import CACHE_LINE, ceil_div, lines
from edgec.program.arguments import LANES, Window
from edgec.program.expr import Expr, bound, expr

POINTS = 16
MULTIPLE = input_multiple(MATRIX_TILES)  # what inputs are padded to a multiple of at most
MOST_PRODUCT = 255 * 127  # of a code and a weight
# What else it takes, in instructions: a tile; an input and a result of one, and a weight of a block; and a product, of whichever kind
TILE, TILE_INPUT, TILE_RESULT, WEIGHT, PRODUCT = 130.0, 6.0, 5.0, 5.0, 5.4 / 32
DIRECT_INPUT, DIRECT_RESULT = 8.0, 8.0  # of a tile's inputs and results where nothing is transformed
LEAST_GAIN = 1.3


@dataclass(frozen=True)
class WinogradTile:
    """`rows` image tiles, the most first, by a panel in `units` registers each.

    Up to `block` image tiles are transformed together, of one panel alone up to `alone`, but no more than `held` inputs.
    """

    rows: tuple[int, ...]
    units: int
    block: int
    alone: int
    held: int

    def most(self, inputs: int, panels: int) -> int:
        """Image tiles of a block."""
        return max(min(self.held // inputs, self.alone if panels == 1 else self.block) // self.rows[0], 1) * self.rows[0]


TILES = {"sse41": WinogradTile((2, 1), 4, 54, 18, 54 * 256), "avx2": WinogradTile((6, 2, 1), 2, 54, 18, 54 * 256)}
HEADERS = {"sse41": ("int8_winograd_sse41.h",), "avx2": ("int8_packed_avx2.h", "int8_widened_avx2.h", "int8_winograd_avx2.h")}


def scratch(arguments: Any) -> int:
    """The inputs and the products of a block, and the weights of a panel, at every point; a pixel of padding."""
    panels, tiles = panel_count(arguments.out_channels), bound(image_tiles(arguments.window))
    blocks = [
        (inputs, min(tile.most(inputs, panels), round_up(tiles, tile.rows[0]))) for tile in TILES.values() for inputs in _padded(arguments)
    ]
    points = max(2 * inputs * (block + LANES) + 4 * LANES * block for inputs, block in blocks)
    return POINTS * (points + 3 * CACHE_LINE) + lines(arguments.in_channels + LANES)


def _padded(arguments: Any) -> set[int]:
    """Inputs as the instruction sets of a package may pad them."""
    return {round_up(arguments.in_channels, multiple) for multiple in range(4, MULTIPLE + 1, 4)}


def image_tiles(window: Window) -> Expr:
    return expr(window.batch) * ceil_div(window.out_height, 2) * ceil_div(window.out_width, 2)


def admits(arguments: Any) -> bool:
    """Layers of 3x3 that it computes clearly faster, and four times whose sums fit 32 bits."""
    w: Window = arguments.window
    square = (w.kernel_height, w.kernel_width, w.stride_height, w.stride_width, w.dilation_height, w.dilation_width) == (3, 3, 1, 1, 1, 1)
    fits = 4 * 9 * arguments.in_channels * MOST_PRODUCT < 2**31
    return square and fits and arguments.groups == 1 and gain(arguments) >= LEAST_GAIN


def gain(arguments: Any) -> float:
    """How many times faster than by widening codes, by the instructions of both."""
    w, inputs, panels = arguments.window, round_up(arguments.in_channels, 4), panel_count(arguments.out_channels)
    tiles, pixels = bound(image_tiles(w)), bound(expr(w.batch) * w.out_height * w.out_width)
    blocks = 1 if panels == 1 else -(-tiles // TILES["avx2"].most(inputs, panels))
    outputs = round_up(arguments.out_channels, LANES // 2)
    direct = pixels * (9 * inputs * outputs * PRODUCT + DIRECT_INPUT / 4 * inputs + DIRECT_RESULT / 4 * outputs)
    results = tiles * LANES * panels * (POINTS * inputs * PRODUCT + TILE_RESULT)
    return direct / (results + tiles * (TILE + TILE_INPUT * inputs) + blocks * WEIGHT * inputs * LANES * panels)
