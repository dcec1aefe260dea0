"""Register tiles of convolutions that compute with vectors of floats, by instruction set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from edgec.program.arguments import PIXEL_BLOCK

TILE_COST = 1  # cost of starting a tile, in pixel rows
# floats in a vector
WIDTH = {
    "portable": 1, "sse41": 4, "avx2": 8, "avxvnni": 8, "avx512vnni": 16, "neon": 4, "dotprod": 4, "i8mm": 4, "fp16": 4, "neon32": 4,
    "dsp": 1, "helium": 4, "wasm128": 4, "relaxed7": 4, "relaxed8": 4,
}  # fmt: skip


def fewest(heights: tuple[int, ...], most: int, beyond: bool = True) -> tuple[int, ...]:
    """For 0 ... `most` pixels left: the height of the next tile, such that the fewest rows are computed.

    None is higher than the one before. beyond: whether the last may reach beyond the pixels.
    """
    costs, steps = [0], [0]
    for left in range(1, most + 1):
        fitting = [rows for rows in heights if beyond or rows <= left]
        cost, height = min((rows + TILE_COST + costs[max(0, left - rows)], -rows) for rows in fitting)
        costs.append(cost)
        steps.append(-height)
    return tuple(steps)


def counted(heights: tuple[int, ...], steps: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """For as many pixels: how many tiles of each height, of which the last may lie in part beyond them."""
    found = [(0,) * len(heights)]
    for left, step in enumerate(steps[1:], 1):
        before = found[max(0, left - step)]
        found.append(tuple(count + (rows == step) for rows, count in zip(heights, before, strict=True)))
    return tuple(found)


@dataclass(frozen=True)
class VectorTile:
    """`rows` pixels by `widths` vectors of output channels: a wider one while panels are left for it, and the last divides a panel."""

    lanes: int  # floats in a vector
    rows: tuple[int, ...]  # tile heights, the best first
    widths: tuple[int, ...]  # the widest first
    depth: int = 1  # input channels a step: those that one load brings
    around: bool = False  # whether whole tiles go around the branches that storing a part of a vector takes
    held: int = 0  # the register after those that compilers are told to hold sums in, where these are nearly all; 0: they choose
    merged: bool = False  # whether the inputs under a row of the window are read as one pixel's
    stretch: int = 0  # products that are added up one by one, before a sum of such sums takes theirs; 0: all
    ahead: int = 0  # bytes that each input of a tile has fetched of the weights that come next; 0: none

    @property
    def steps(self) -> tuple[int, ...]:
        """For 0 ... PIXEL_BLOCK pixels left: the height of the next tile."""
        return fewest(self.rows, PIXEL_BLOCK)

    @property
    def counts(self) -> tuple[tuple[int, ...], ...]:
        """For 0 ... PIXEL_BLOCK pixels: how many tiles of each height."""
        return counted(self.rows, self.steps)

    def is_partial(self, rows: int) -> bool:
        """Whether a tile of this height may lie in part beyond the pixels."""
        return rows in self.steps[1:rows]


_SHAPES: dict[str, tuple[Any, ...]] = {
    "portable": ((4, 1), (4,)),
    "sse41": ((6, 4, 1), (2,)),
    "avx2": ((6, 4, 1), (2,)),
    "avxvnni": ((6, 4, 1), (2,)),
    "avx512vnni": ((7, 1), (2, 1)),
    **dict.fromkeys(("neon", "dotprod", "i8mm", "fp16"), ((5, 4, 1), (4, 2), 4, True, 32)),
    "neon32": ((4, 1), (2,), 4, True, 12),
    "dsp": ((4, 1), (4,)),
    "helium": ((3, 2, 1), (2,)),
    **dict.fromkeys(("wasm128", "relaxed7", "relaxed8"), ((6, 4, 1), (2,))),
}
TILES = {name: VectorTile(WIDTH[name], *shape) for name, shape in _SHAPES.items()}
TALL = {"avx512vnni": VectorTile(WIDTH["avx512vnni"], (14, 7, 1), (2, 1))}  # of twice the rows, where registers hold them
MERGED = {name: replace(tile, merged=True) for name, tile in TILES.items() if tile.depth > 1}
# The highest tiles of a block together have the weights of the next channels fetched, once.
AHEAD = {"avx512vnni": replace(TILES["avx512vnni"], ahead=16)}
TALL_AHEAD = {"avx512vnni": replace(TALL["avx512vnni"], ahead=32)}


@dataclass(frozen=True)
class BlockTile:
    """What an item has of what lies one after the other: elements, or pixels."""

    block: int
