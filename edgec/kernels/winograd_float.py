"""Winograd's F(4x4, 3x3) of floats: 36 matrix products for 16 results of each channel, where convolving takes 144.

The transforms evaluate polynomials at 0, 1, -1, 2, -2 and infinity.
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

SIDE = 4  # results of a tile, along each axis
POINTS = (SIDE + 2) ** 2
BLOCK = 28  # tiles that are transformed together
PANELS = 2  # weight panels of an item
FILTER = np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]]) / 24
# What the rest costs, in multiplications: an input or a result of a tile, and a weight, which every block reads anew
TILE_INPUT, TILE_RESULT, WEIGHT_READ = 140.0, 140.0, 12.0
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
    "avx2": WinogradTile(WIDTH["avx2"], (6, 3, 1), 2),
    "avxvnni": WinogradTile(WIDTH["avxvnni"], (6, 3, 1), 2),
    "avx512vnni": WinogradTile(WIDTH["avx512vnni"], (14, 7, 2, 1), 2),
    **{name: WinogradTile(WIDTH[name], (5, 4, 1), 4, 4, 32) for name in ("neon", "dotprod", "i8mm")},
    "neon32": WinogradTile(WIDTH["neon32"], (4, 1), 2, 4, 12),
}


def image_tiles(window: Window) -> Expr:
    return expr(window.batch) * ceil_div(window.out_height, SIDE) * ceil_div(window.out_width, SIDE)


def items(arguments: Any) -> Expr:
    """Panels of a tile: a kernel that divides its work otherwise takes as large a part of it."""
    return image_tiles(arguments.window) * panel_count(arguments.out_channels)


def scratch(arguments: Any, _: Collection[str]) -> int:
    """The inputs and the products of a block at every point, and a pixel of padding."""
    inputs = round_up(arguments.in_channels, LANES) * BLOCK + LANES
    products = PANELS * LANES * BLOCK
    return lines(4 * POINTS * inputs) + lines(4 * POINTS * products) + lines(4 * arguments.in_channels)


def admits(arguments: Any) -> bool:
    """Layers of 3x3 that it computes clearly faster, with weights that are no burden: they grow by 4."""
    w: Window = arguments.window
    square = (w.kernel_height, w.kernel_width, w.stride_height, w.stride_width, w.dilation_height, w.dilation_width) == (3, 3, 1, 1, 1, 1)
    return square and arguments.groups == 1 and 4 * weights(arguments) <= MOST_BYTES and gain(arguments) >= LEAST_GAIN


def weights(arguments: Any) -> int:
    """Elements of the transformed weights."""
    elements: int = POINTS * lanes_of(arguments) * arguments.in_channels
    return elements


def gain(arguments: Any) -> float:
    """How many times faster than by panels, by the multiplications of both."""
    w, inputs, outputs = arguments.window, arguments.in_channels, arguments.out_channels
    tiles = bound(image_tiles(w))
    direct = bound(expr(w.batch) * w.out_height * w.out_width) * 9 * inputs * outputs
    blocks = -(-tiles // BLOCK)
    products = POINTS * inputs * outputs * (tiles + WEIGHT_READ * blocks / LANES)
    return float(direct / (products + tiles * POINTS * (TILE_INPUT * inputs + TILE_RESULT * outputs) / LANES))


def transformed(arguments: Any, plain: np.ndarray) -> np.ndarray:
    """[panel][point][in][16] float32, missing output channels zero."""
    taps = by_output(arguments, plain).astype(np.float64).reshape(1, arguments.out_channels, 3, 3, arguments.in_channels)
    points = np.einsum("iy,goyxc,jx->goijc", FILTER, taps, FILTER).reshape(1, arguments.out_channels, POINTS, -1)
    panels = padded_panels(points.astype(np.float32), arguments.in_channels, np.float32)
    return np.ascontiguousarray(panels.transpose(0, 1, 3, 4, 2)).reshape(-1)


PACKING = Packing(
    "points of Winograd",
    {"weights": lambda arguments, plain, _: transformed(arguments, plain), "bias": pack_by_panels},
    reach={"weights": weights},
)
WINOGRAD = Variant("winograd", items, scratch, TILES, PACKING, admits, "conv_float/winograd")
