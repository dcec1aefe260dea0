"""Convolutions and products by the matrices of Apple's simdgroups: 32 threads that multiply 8 x 8 numbers together (Apple7 and later).

The weights are the ordinary kernel's, at the same addresses, and that one runs where a device lacks the matrices. A word of shared memory
serves 8 to 16 multiply-adds instead of three or so, which is what such a tile is for. Sums are float32, in another order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from edgec.emit.gpu.dialect import Dialect, render_kernel
from edgec.emit.gpu.shader import MOST_GROUPS, MOST_SHARED_BYTES, Shader
from edgec.emit.gpu.tiles import ENOUGH, STAGED_WORD, STEP_OVERHEAD

SIDE = 8  # of a matrix
TEAM = 32  # threads of a simdgroup
APART = 4  # words more than a row has, so that a matrix's rows do not meet in one bank


@dataclass(frozen=True)
class MatrixTile:
    """The `pixels` x `lanes` outputs of one workgroup, whose simdgroups divide them `down` times `across`.

    The sum goes in steps of `depth` terms, which are staged in shared memory: a row for each pixel, then a row for each term.
    """

    pixels: int
    lanes: int
    down: int
    across: int
    depth: int

    @property
    def pixels_each(self) -> int:
        return self.pixels // self.down

    @property
    def lanes_each(self) -> int:
        return self.lanes // self.across

    @property
    def invocations(self) -> int:
        return self.down * self.across * TEAM

    @property
    def pitch(self) -> int:
        return self.depth + APART

    @property
    def lane_pitch(self) -> int:
        return self.lanes + APART

    @property
    def staged(self) -> int:
        """Elements."""
        return self.pixels * self.pitch + self.depth * self.lane_pitch

    @property
    def finished(self) -> int:
        """Sums that pass through shared memory at a time."""
        return SIDE * self.lanes * self.down

    def steps(self, terms: int) -> int:
        return -(-terms // self.depth)


SHAPES = ((64, 64, 2, 2), (64, 32, 2, 2), (32, 64, 2, 2), (32, 32, 2, 2), (128, 16, 4, 1), (16, 64, 1, 4), (64, 8, 4, 1), (16, 16, 1, 2))
DEPTHS = (8, 16, 32)


@cache
def choose_matrix_tile(pixels: int, lanes: int, terms: int, parts: int) -> tuple[MatrixTile, float]:
    """The cheapest one and what it costs, in the measure of tiles.choose_tile."""
    tiles = [MatrixTile(*shape, depth) for shape in SHAPES for depth in DEPTHS]
    fits = [tile for tile in tiles if max(tile.staged, tile.finished) * 4 <= MOST_SHARED_BYTES]
    best = min(fits, key=lambda tile: (_cost(tile, pixels, lanes, terms, parts), tile.staged))
    return best, _cost(best, pixels, lanes, terms, parts)


def _cost(tile: MatrixTile, pixels: int, lanes: int, terms: int, parts: int) -> float:
    groups, outputs = parts * -(-pixels // tile.pixels) * -(-lanes // tile.lanes), tile.pixels * tile.lanes
    shared_loads = 1 / tile.pixels_each + 1 / tile.lanes_each
    staged = STAGED_WORD * (tile.pixels + tile.lanes) / outputs
    each = tile.steps(terms) * (tile.depth * (1 + shared_loads + staged) + STEP_OVERHEAD)
    return groups * outputs * each * max(1.0, ENOUGH / (groups * tile.invocations))


def matrix_shader(plain: Shader, dialect: Dialect, numbers: Mapping[str, Any], cost: float) -> Shader | None:
    """What the shader `plain` does, by matrices. `numbers` are those of conv_float.j2. None where `plain` costs less: `cost`."""
    pixels, lanes, terms, parts = (int(numbers[name]) for name in ("pixels", "outputs", "terms", "groups"))
    tile, least = choose_matrix_tile(pixels, lanes, terms, parts)
    grid = (-(-pixels // tile.pixels), -(-lanes // tile.lanes), parts)
    if max(grid) > MOST_GROUPS or least >= cost:
        return None
    halves = bool(numbers["weights"].is_half)  # then matrices of halves are multiplied; the sums stay float32
    shared = [("half" if halves else "float", "staged", tile.staged if halves else max(tile.staged, tile.finished))]
    shared += [("float", "finished", tile.finished)] if halves else []
    bytes_shared = sum(count * (2 if kind == "half" else 4) for kind, _, count in shared)
    name, group = f"{plain.name}_matrices", (tile.invocations, 1, 1)
    changed = {"name": name, "group": group, "tile": tile, "shared": shared, "finished": shared[-1][1], "halves": halves}
    source = render_kernel("conv_matrix", dialect, **{**numbers, **changed})
    words = {operand: 0.5 if numbers[operand] is not None and numbers[operand].is_half else 1.0 for operand in ("x", "weights", "residual")}
    staged = tile.steps(terms) * tile.depth * (tile.pixels * words["x"] + tile.lanes * words["weights"])
    ends = pixels * lanes * (1 if numbers["residual"] is None else 1 + words["residual"])
    loads = math.ceil(parts * (grid[0] * grid[1] * staged + ends))
    return Shader(plain.call, name, source, group, grid, bytes_shared, loads=loads, macs=plain.macs)
