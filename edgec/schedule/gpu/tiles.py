"""Which tile a product has on a GPU."""

from __future__ import annotations

from functools import cache

from edgec.kernels.gpu.limits import MOST_SHARED_BYTES
from edgec.kernels.gpu.tiles import LANES_EACH, Tile

ENOUGH = 4096  # invocations that keep a GPU busy; with fewer, its speed falls in proportion
STEP_OVERHEAD = 2  # what a step costs besides its rows (two barriers, the staging's latency), in rows
STAGED_WORD = 4  # what a word brought to shared memory costs, in multiply-adds of words

# The candidates: from much reuse for large outputs to many slices for a single pixel.
TILES = (
    Tile(64, 8, 64), Tile(64, 4, 32), Tile(32, 4, 64), Tile(32, 4, 32), Tile(64, 4, 16), Tile(128, 4, 8),
    Tile(16, 4, 32, 2), Tile(16, 2, 16, 4), Tile(64, 2, 4, 2), Tile(4, 1, 16, 8), Tile(1, 1, 16, 16),
)  # fmt: skip
DEPTHS = (4, 8, 16, 32, 64)


@cache
def choose_tile(pixels: int, lanes: int, rows: int, parts: int = 1) -> Tile:
    """The cheapest tile for `parts` products of `pixels` x `lanes` outputs, each a sum over `rows` rows."""
    return min(with_depths(), key=lambda tile: (cost_of_tile(tile, pixels, lanes, rows, parts), tile.shared_words))


@cache
def with_depths() -> tuple[Tile, ...]:
    """Each candidate with every depth that its invocations can stage evenly, and that fits the shared memory with two constants a lane."""
    tiles = [Tile(tile.pixels, tile.pixels_each, tile.lanes, tile.slices, depth) for tile in TILES for depth in DEPTHS]
    return tuple(
        tile
        for tile in tiles
        if tile.depth % tile.slices == tile.invocations % tile.depth == 0 and (tile.shared_words + 2 * tile.lanes) * 4 <= MOST_SHARED_BYTES
    )


def cost_of_tile(tile: Tile, pixels: int, lanes: int, rows: int, parts: int) -> float:
    """In multiply-adds of one word, over all invocations: shared loads, staging, idle outputs and idle invocations counted."""
    groups = parts * -(-pixels // tile.pixels) * -(-lanes // tile.lanes)
    outputs = tile.pixels * tile.lanes
    shared_loads = 1 / tile.pixels_each + 1 / LANES_EACH
    staged = STAGED_WORD * (tile.pixels + tile.lanes) / outputs
    each = tile.steps(rows) * (tile.depth * (1 + shared_loads + staged) + STEP_OVERHEAD * tile.slices)
    reduced = 2 * tile.slices if tile.slices > 1 else 0
    return groups * outputs * (each + reduced) * max(1.0, ENOUGH / (groups * tile.invocations))
