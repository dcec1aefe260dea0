"""Which convolutions Winograd's F(2x2, 3x3) pays for on a GPU, and in which tiles.

It is taken where cost * MARGIN is less than what choose_tile finds for the direct sum, in the same words. One step of a workgroup costs
    16 * squares * lanes * (depth * (1 + 1 / squares_each + 1 / lanes_each) + STEP_OVERHEAD)     products, their shared loads, barriers
    + depth * (squares * STAGED_PATCH + lanes * STAGED_FILTER)                                   loads, transforms, shared stores
and the end costs squares * lanes * END; fewer than ENOUGH invocations cost in proportion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from edgec.kernels.gpu.limits import MOST_SHARED_BYTES
from edgec.kernels.gpu.squares import MATRICES, TAPS, SquarePlan, Squares
from edgec.schedule.gpu.tiles import ENOUGH, STAGED_WORD, STEP_OVERHEAD, choose_tile, cost_of_tile

STAGED_PATCH = MATRICES * STAGED_WORD + 32  # what bringing a patch to shared memory costs, in multiply-adds of words
STAGED_FILTER = TAPS * STAGED_WORD + (MATRICES - TAPS) + 28
END = 256  # what it takes from 16 sums to four outputs: shared stores and loads, 24 additions, addresses (from measurements)
MARGIN = 1.1  # what the direct sum must cost more, before it is given up
# From much reuse for large outputs to many groups for small ones.
SHAPES = (
    Squares(16, 4, 32, 8), Squares(32, 8, 16, 4), Squares(16, 4, 16, 4), Squares(8, 2, 16, 4), Squares(8, 2, 8, 2), Squares(4, 2, 16, 2),
)  # fmt: skip
DEPTHS = (4, 8, 16)


def plan_squares(g: Mapping[str, int], channels: int, outputs: int, groups: int) -> SquarePlan | None:
    """How Winograd's convolution does a window of that geometry; None where it cannot, or where the direct sum is not dearer."""
    one = ("stride_height", "stride_width", "dilation_height", "dilation_width")
    if groups != 1 or g["kernel_height"] != 3 or g["kernel_width"] != 3 or any(g[name] != 1 for name in one):
        return None
    plan = _cheapest(g["batch"], g["out_height"], g["out_width"], channels, outputs)
    return plan if cost_of_squares(plan) * MARGIN < direct_cost(plan) else None


@cache
def _cheapest(batch: int, height: int, width: int, channels: int, outputs: int) -> SquarePlan:
    plans = (SquarePlan(tile, batch, height, width, channels, outputs) for tile in with_depths())
    return min(plans, key=lambda plan: (cost_of_squares(plan), plan.tile.shared_words))


def with_depths() -> Iterator[Squares]:
    """Each shape with every depth that fits the shared memory."""
    tiles = (replace(shape, depth=depth) for shape in SHAPES for depth in DEPTHS)
    return (tile for tile in tiles if tile.shared_words * 4 <= MOST_SHARED_BYTES)


def cost_of_squares(plan: SquarePlan) -> float:
    """In the words of choose_tile: multiply-adds of one word over all invocations, with all that goes with them."""
    tile = plan.tile
    products = tile.sums * (tile.depth * (1 + 1 / tile.squares_each + 1 / tile.lanes_each) + STEP_OVERHEAD)
    staging = tile.depth * (tile.squares * STAGED_PATCH + tile.lanes * STAGED_FILTER)
    each = tile.steps(plan.channels) * (products + staging) + tile.squares * tile.lanes * END
    return plan.groups * each * max(1.0, ENOUGH / (plan.groups * tile.invocations))


def direct_cost(plan: SquarePlan) -> float:
    """What the direct sum costs."""
    pixels, terms = plan.batch * plan.height * plan.width, TAPS * plan.channels
    return cost_of_tile(choose_tile(pixels, plan.outputs, terms), pixels, plan.outputs, terms, 1)
