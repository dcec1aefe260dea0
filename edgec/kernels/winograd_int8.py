"""Winograd's F(2x2, 3x3) and F(4x4, 3x3) of codes, exactly: 16 products for 4 results of each channel or 36 for 16, where convolving takes
36 or 144.

Weights are those of panels, and become what they are at the 16 points while the layer runs: that takes a few instructions for each, which
all tiles of a block share, and packages stay as small.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from edgec.kernels.convolution import panel_count, round_up
from edgec.kernels.matrix_int8 import input_multiple
from edgec.kernels.windows import CACHE_LINE, ceil_div, lines
from edgec.program.arguments import LANES, Window
from edgec.program.expr import Expr, bound, expr

LEAST_GAIN = {2: 1.3, 4: 1.15}  # by side
MAY_GAIN = 0.75  # where a measurement may find one: costs err by a third as a rule


@dataclass(frozen=True)
class WinogradTile:
    """`rows` image tiles, the most first, by a panel in `units` registers each; one has side x side results.

    Up to `block` image tiles are transformed together, of one panel alone up to `alone`, but no more than `held` inputs.
    """

    rows: tuple[int, ...]
    units: int
    block: int
    alone: int
    held: int
    side: int = 2

    @property
    def wide(self) -> int:
        """Inputs that become what they are at the points together: a register of 16-bit numbers, of which sums take two."""
        return 2 * LANES // self.units

    @property
    def points(self) -> int:
        return (self.side + 2) ** 2

    def most(self, inputs: int, panels: int) -> int:
        """Image tiles of a block."""
        return max(min(self.held // inputs, self.alone if panels == 1 else self.block) // self.rows[0], 1) * self.rows[0]


@dataclass(frozen=True)
class Cost:
    """What computing a layer takes, in any unit: convolving, and Winograd's way."""

    direct: float  # an input of a window by a panel
    pixel_input: float
    pixel_result: float  # of a panel
    product: float  # at a point, an input by a panel
    tile: float
    tile_input: float
    tile_result: float  # of a panel
    weight: float  # an input of a block by a panel


TILES = {
    "sse41": WinogradTile((2, 1), 4, 54, 18, 54 * 256),
    "avx2": WinogradTile((6, 2, 1), 2, 54, 18, 54 * 256),
    "neon": WinogradTile((6, 2, 1), 4, 54, 18, 54 * 256),
    "neon32": WinogradTile((2, 1), 4, 54, 18, 54 * 256),
}
LARGE_TILES = {
    "sse41": WinogradTile((2, 1), 4, 54, 18, 28 * 256, 4),
    "avx2": WinogradTile((6, 2, 1), 2, 54, 18, 28 * 256, 4),
    "avx512vnni": WinogradTile((14, 7, 4, 2, 1), 1, 56, 28, 28 * 256, 4),
    "neon": WinogradTile((6, 2, 1), 4, 54, 18, 28 * 256, 4),
    "neon32": WinogradTile((2, 1), 4, 54, 18, 28 * 256, 4),
}
NARROW_TILES = {name: tile for name, tile in LARGE_TILES.items() if name != "avx512vnni"}
# AVX2's costs stand for NEON's, which takes 1.5 to 2.6 times fewer instructions where these say 2 to 3.2, and 1.03 times in the worst layer
# that was counted (7 x 7 of 16 channels); but weights take it longer, and with F(2x2) a layer of 4 tiles takes up to 8 % more
LEAST_TILES = {"neon": 6, "neon32": 6}
COST = Cost(2.7, 2, 32, 2.7, 130, 6, 80, 80)  # instructions of AVX2
LARGE_COST = {"avx2": Cost(0.71, 0.5, 20, 0.72, 60, 8.5, 290, 45), "avx512vnni": Cost(0.25, 0, 6, 0.525, 60, 4.7, 250, 45)}  # cycles
_HEADERS = {
    "sse41": ("int8_winograd_sse41.h", "int8_winograd_fours.h"),
    "avx2": ("int8_packed_avx2.h", "int8_widened_avx2.h", "int8_winograd_avx2.h"),
}
OUTDONE = {"neon": "dotprod"}  # a register of products an instruction: most processors of such packages gain nothing
HEADERS = _HEADERS | {
    "avx512vnni": ("int8_packed_avx512.h", "int8_winograd_avx512.h"),
    **dict.fromkeys(("neon", "neon32"), ("int8_two_neon.h", "int8_packed_neon.h", "int8_winograd_neon.h", "int8_winograd_fours.h")),
}


def scratch(arguments: Any, tiles: Mapping[str, WinogradTile], vocabularies: Collection[str]) -> int:
    """The inputs and the products of a block, and the weights of a panel, at every point; a pixel of padding."""
    inputs, panels, most = round_up(arguments.in_channels, input_multiple(vocabularies)), panel_count(arguments.out_channels), 0
    for tile in (tiles[vocabulary] for vocabulary in vocabularies if vocabulary in tiles):
        block = min(tile.most(inputs, panels), round_up(bound(image_tiles(arguments.window, tile.side)), tile.rows[0]))
        most = max(most, tile.points * (2 * inputs * (block + LANES) + 4 * LANES * block + 3 * CACHE_LINE))
    return most + lines(arguments.in_channels + LANES)


def image_tiles(window: Window, side: int) -> Expr:
    return expr(window.batch) * ceil_div(window.out_height, side) * ceil_div(window.out_width, side)


def admits(arguments: Any) -> bool:
    """Layers of 3x3 that F(2x2, 3x3) may compute faster than by widening codes, and four times whose sums fit 32 bits."""
    return _can(arguments, 4) and gain(arguments, TILES["avx2"], COST) >= MAY_GAIN


def pays(arguments: Any, vocabularies: Collection[str]) -> bool:
    """Whether it is clearly faster, and one of these instruction sets gains by it with so few image tiles."""
    tiles = bound(image_tiles(arguments.window, 2))
    clearly = gain(arguments, TILES["avx2"], COST) >= LEAST_GAIN[2]
    return clearly and any(tiles >= LEAST_TILES.get(vocabulary, 0) for vocabulary in vocabularies if vocabulary in TILES)


def admits_narrow(arguments: Any) -> bool:
    """Those that F(4x4, 3x3) may compute faster, 64 times whose sums fit 32 bits."""
    return _can(arguments, 64) and gain(arguments, LARGE_TILES["avx2"], LARGE_COST["avx2"]) >= MAY_GAIN


def pays_narrow(arguments: Any, _: Collection[str] = ()) -> bool:
    """Whether it is clearly faster, and than by F(2x2, 3x3) too."""
    return gain(arguments, LARGE_TILES["avx2"], LARGE_COST["avx2"]) >= max(LEAST_GAIN[2], gain(arguments, TILES["avx2"], COST))


def admits_large(arguments: Any) -> bool:
    """Those of them that even instructions may gain by which multiply four bytes at once, and only two 16-bit numbers."""
    return admits_narrow(arguments) and gain(arguments, LARGE_TILES["avx512vnni"], LARGE_COST["avx512vnni"]) >= MAY_GAIN


def pays_large(arguments: Any, _: Collection[str] = ()) -> bool:
    """Whether all of them are clearly faster."""
    return pays_narrow(arguments) and gain(arguments, LARGE_TILES["avx512vnni"], LARGE_COST["avx512vnni"]) >= LEAST_GAIN[4]


def _can(arguments: Any, multiple: int) -> bool:
    w: Window = arguments.window
    square = (w.kernel_height, w.kernel_width, w.stride_height, w.stride_width, w.dilation_height, w.dilation_width) == (3, 3, 1, 1, 1, 1)
    return square and multiple * arguments.largest_sum < 2**31 and bool(arguments.groups == 1)


def gain(arguments: Any, tile: WinogradTile, cost: Cost) -> float:
    """How many times faster than convolving."""
    w, inputs, panels = arguments.window, round_up(arguments.in_channels, 4), panel_count(arguments.out_channels)
    tiles, pixels = bound(image_tiles(w, tile.side)), bound(expr(w.batch) * w.out_height * w.out_width)
    blocks = 1 if panels == 1 else -(-tiles // tile.most(inputs, panels))
    outputs = round_up(arguments.out_channels, LANES // 2) / LANES
    direct = pixels * ((9 * inputs * cost.direct + cost.pixel_result) * outputs + cost.pixel_input * inputs)
    results = tiles * panels * (tile.points * inputs * cost.product + cost.tile_result)
    return direct / (results + tiles * (cost.tile + cost.tile_input * inputs) + blocks * cost.weight * inputs * panels)
