"""Which tile a product by simdgroup matrices has.

A word of shared memory serves 8 to 16 multiply-adds instead of three or so, which is what such a tile is for.
"""

from __future__ import annotations

from functools import cache

from edgec.kernels.gpu.limits import MOST_GROUPS, MOST_SHARED_BYTES
from edgec.kernels.gpu.matrices import MatrixTile
from edgec.schedule.gpu.tiles import ENOUGH, STAGED_WORD, STEP_OVERHEAD

SHAPES = ((64, 64, 2, 2), (64, 32, 2, 2), (32, 64, 2, 2), (32, 32, 2, 2), (128, 16, 4, 1), (16, 64, 1, 4), (64, 8, 4, 1), (16, 16, 1, 2))
DEPTHS = (8, 16, 32)


def choose_matrix_tile(pixels: int, lanes: int, terms: int, parts: int, other: float) -> MatrixTile | None:
    """The cheapest one; None where it is not cheaper than the ordinary kernel, whose cost `other` is, or more than a dispatch."""
    tile, cost = _cheapest(pixels, lanes, terms, parts)
    return tile if max(tile.grid(pixels, lanes, parts)) <= MOST_GROUPS and cost < other else None


@cache
def _cheapest(pixels: int, lanes: int, terms: int, parts: int) -> tuple[MatrixTile, float]:
    tiles = [MatrixTile(*shape, depth) for shape in SHAPES for depth in DEPTHS]
    fits = [tile for tile in tiles if max(tile.staged, tile.finished) * 4 <= MOST_SHARED_BYTES]
    best = min(fits, key=lambda tile: (cost_of_matrices(tile, pixels, lanes, terms, parts), tile.staged))
    return best, cost_of_matrices(best, pixels, lanes, terms, parts)


def cost_of_matrices(tile: MatrixTile, pixels: int, lanes: int, terms: int, parts: int) -> float:
    """In the measure of tiles.choose_tile."""
    groups, outputs = parts * -(-pixels // tile.pixels) * -(-lanes // tile.lanes), tile.pixels * tile.lanes
    shared_loads = 1 / tile.pixels_each + 1 / tile.lanes_each
    staged = STAGED_WORD * (tile.pixels + tile.lanes) / outputs
    each = tile.steps(terms) * (tile.depth * (1 + shared_loads + staged) + STEP_OVERHEAD)
    return groups * outputs * each * max(1.0, ENOUGH / (groups * tile.invocations))
