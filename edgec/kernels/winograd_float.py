"""Winograd's forms of float convolutions of 3x3, F(4x4, 3x3) of floats: 36 matrix products for 16 results of each channel, where
convolving takes 144; and F(2x2, 3x3), which takes 16 for 4 and rounds less.

The transforms evaluate polynomials at 0, 1, -1, 2, -2 and infinity, or at 0, 1, -1 and infinity.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgec.kernels.convolution import by_output, lanes_of, pack_by_panels, padded_panels, panel_count, round_up
from edgec.kernels.variants import Packing, Variant
from edgec.kernels.vectors import WIDTH, counted, fewest
from edgec.kernels.windows import ceil_div, lines
from edgec.program.arguments import LANES, Window
from edgec.program.expr import Expr, bound, expr

BLOCK = 28  # tiles that are transformed together
PANELS = 2  # weight panels of an item
FILTERS = {  # by the side of a tile's results: what a line of weights is at the points
    4: np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]) / 24,
    2: np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]]) / 2,
}
LEAST_GAIN = 1.15
MOST_BYTES = 10 << 20  # of a layer's weights


@dataclass(frozen=True)
class WinogradTile:
    """`rows` image tiles by at most `width` vectors of output channels, in registers."""

    lanes: int
    rows: tuple[int, ...]  # heights, the best first and 1 last
    width: int
    depth: int = 1  # input channels a step: those that one load brings
    held: int = 0  # as of a VectorTile
    block: int = BLOCK
    panels: int = PANELS
    side: int = 4  # results of an image tile, along each axis
    stretch: int = 0  # as of a VectorTile
    ahead: int = 0  # as of a VectorTile

    @property
    def strip(self) -> int:
        """Output channels at once."""
        return self.width * self.lanes

    @property
    def counts(self) -> tuple[tuple[int, ...], ...]:
        """For 0 ... `block` image tiles: how many of each height."""
        return counted(self.rows, fewest(self.rows, self.block, beyond=False))


TILES = {
    "sse41": WinogradTile(WIDTH["sse41"], (6, 3, 1), 2),
    "avx2": WinogradTile(WIDTH["avx2"], (6, 3, 1), 2, ahead=16),
    "avxvnni": WinogradTile(WIDTH["avxvnni"], (6, 3, 1), 2, ahead=16),
    "avx512vnni": WinogradTile(WIDTH["avx512vnni"], (14, 7, 2, 1), 2, ahead=32),
    **{name: WinogradTile(WIDTH[name], (5, 4, 1), 4, 4, 32) for name in ("neon", "dotprod", "i8mm")},
    "neon32": WinogradTile(WIDTH["neon32"], (4, 1), 2, 4, 12),
}


@dataclass(frozen=True)
class Form:
    """F(side x side, 3x3) of numbers of so many bytes, in blocks of tiles.

    What the rest costs, in multiplications: an input and a result of a tile, at each point, and a weight, which every block reads anew.
    """

    side: int
    number: int
    block: int
    tile_input: float
    tile_result: float
    weight_read: float = 12.0

    @property
    def points(self) -> int:
        return (self.side + 2) ** 2

    def image_tiles(self, window: Window) -> Expr:
        return expr(window.batch) * ceil_div(window.out_height, self.side) * ceil_div(window.out_width, self.side)

    def items(self, arguments: Any) -> Expr:
        """Panels of a tile: a kernel that divides its work otherwise takes as large a part of it."""
        return self.image_tiles(arguments.window) * panel_count(arguments.out_channels)

    def scratch(self, arguments: Any, _: Collection[str]) -> int:
        """The inputs and the products of a block at every point, and a pixel of padding."""
        inputs = round_up(arguments.in_channels, LANES) * self.block + LANES
        products = PANELS * LANES * self.block
        return sum(lines(self.number * count) for count in (self.points * inputs, self.points * products, arguments.in_channels))

    def admits(self, arguments: Any) -> bool:
        """Layers of 3x3 that it computes clearly faster, with weights that are no burden: they grow by 4, or 16/9."""
        w: Window = arguments.window
        steps = {w.stride_height, w.stride_width, w.dilation_height, w.dilation_width}
        square = w.kernel_height == w.kernel_width == 3 and steps == {1}
        light = self.number * self.weights(arguments) <= MOST_BYTES
        return square and arguments.groups == 1 and light and self.gain(arguments) >= LEAST_GAIN

    def weights(self, arguments: Any) -> int:
        """Elements of the transformed weights."""
        elements: int = self.points * lanes_of(arguments) * arguments.in_channels
        return elements

    def gain(self, arguments: Any) -> float:
        """How many times faster than by panels, by the multiplications of both."""
        w, inputs, outputs = arguments.window, arguments.in_channels, arguments.out_channels
        tiles = bound(self.image_tiles(w))
        direct = bound(expr(w.batch) * w.out_height * w.out_width) * 9 * inputs * outputs
        blocks = -(-tiles // self.block)
        products = self.points * inputs * outputs * (tiles + self.weight_read * blocks / LANES)
        rest = tiles * self.points * (self.tile_input * inputs + self.tile_result * outputs) / LANES
        return float(direct / (products + rest))

    def transformed(self, arguments: Any, plain: np.ndarray) -> np.ndarray:
        """[panel][point][in][16] float32, missing output channels zero."""
        taps = by_output(arguments, plain).astype(np.float64).reshape(1, arguments.out_channels, 3, 3, arguments.in_channels)
        line = FILTERS[self.side]
        points = np.einsum("iy,goyxc,jx->goijc", line, taps, line).reshape(1, arguments.out_channels, self.points, -1)
        panels = padded_panels(points.astype(np.float32), arguments.in_channels, np.float32)
        return np.ascontiguousarray(panels.transpose(0, 1, 3, 4, 2)).reshape(-1)

    @property
    def packing(self) -> Packing:
        return Packing(
            "points of Winograd",
            {"weights": lambda arguments, plain, _: self.transformed(arguments, plain), "bias": pack_by_panels},
            reach={"weights": self.weights},
        )


FLOATS = Form(4, 4, BLOCK, 140.0, 140.0)
WINOGRAD = Variant("winograd", FLOATS.items, FLOATS.scratch, TILES, FLOATS.packing, FLOATS.admits, "conv_float/winograd")
