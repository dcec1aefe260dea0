"""Winograd's convolution F(2x2, 3x3): 16 multiplications make four outputs of a channel instead of 36. Which convolutions it pays for.

A square of 2 x 2 outputs sees a patch of 4 x 4 inputs. Patches and filters are transformed while they are staged in shared memory, then
each of their 16 elements is a matrix product of its own over the input channels, and 24 additions turn the 16 sums into four outputs. All
factors of the transforms are 1 or 1/2, so rounding errors stay close to those of the direct sum. An input that is not finite spoils all
four outputs of the squares that see it, where the direct sum might have spared some.

It is taken where cost * MARGIN is less than what choose_tile finds for the direct sum, in the same words. One step of a workgroup costs
    16 * squares * lanes * (depth * (1 + 1 / squares_each + 1 / lanes_each) + STEP_OVERHEAD)     products, their shared loads, barriers
    + depth * (squares * STAGED_PATCH + lanes * STAGED_FILTER)                                   loads, transforms, shared stores
and the end costs squares * lanes * END; fewer than ENOUGH invocations cost in proportion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from edgec.emit.gpu.shader import MOST_SHARED_BYTES, Extent
from edgec.emit.gpu.tiles import ENOUGH, STAGED_WORD, STEP_OVERHEAD, choose_tile, cost_of_tile

MATRICES = 16  # of a patch and of a filter; an invocation multiplies in one of them
TAPS = 9
SIDE = 2  # of a square
STAGED_PATCH = MATRICES * STAGED_WORD + 32  # what bringing a patch to shared memory costs, in multiply-adds of words
STAGED_FILTER = TAPS * STAGED_WORD + (MATRICES - TAPS) + 28
END = 256  # what it takes from 16 sums to four outputs: shared stores and loads, 24 additions, addresses (from measurements)
BANKS = 32  # of shared memory
MARGIN = 1.1  # what the direct sum must cost more, before it is given up


@dataclass(frozen=True)
class Squares:
    """The part of a convolution that one workgroup makes: `squares` squares by `lanes` output channels.

    Each invocation adds up `squares_each` x `lanes_each` elements of one matrix. The sum over the input channels goes in steps of `depth`.
    """

    squares: int
    squares_each: int
    lanes: int
    lanes_each: int
    depth: int = 0

    @property
    def square_groups(self) -> int:
        return self.squares // self.squares_each

    @property
    def lane_groups(self) -> int:
        return self.lanes // self.lanes_each

    @property
    def invocations(self) -> int:
        return MATRICES * self.square_groups * self.lane_groups

    @property
    def sums(self) -> int:
        return MATRICES * self.squares * self.lanes

    @property
    def passes(self) -> int:
        """How often sums go through shared memory, a part of the lanes each time, to become outputs."""
        return -(-self.sums * 4 // MOST_SHARED_BYTES)

    @property
    def square_pitch(self) -> int:
        """Words from a matrix's part of a channel's patches to the next one's."""
        return _pitch(self.squares, self.square_groups)

    @property
    def lane_pitch(self) -> int:
        return _pitch(self.lanes, self.lane_groups)

    @property
    def shared_words(self) -> int:
        return max(MATRICES * self.depth * (self.square_pitch + self.lane_pitch), self.sums // self.passes)

    def steps(self, channels: int) -> int:
        return -(-channels // self.depth)

    def loads(self, channels: int, x_words: float = 1, weight_words: float = 1) -> float:
        """Words that a workgroup stages for all its steps; an element of x and of the weights has so many."""
        return self.steps(channels) * self.depth * (MATRICES * self.squares * x_words + TAPS * self.lanes * weight_words)


def _pitch(words: int, read: int) -> int:
    """Of rows of `words`, `read` neighbours of which are read at once: two matrices' readers must not meet in one of 32 banks."""
    return words + read if words % BANKS == 0 else words


# From much reuse for large outputs to many groups for small ones.
SHAPES = (
    Squares(16, 4, 32, 8), Squares(32, 8, 16, 4), Squares(16, 4, 16, 4), Squares(8, 2, 16, 4), Squares(8, 2, 8, 2), Squares(4, 2, 16, 2),
)  # fmt: skip
DEPTHS = (4, 8, 16)


@dataclass(frozen=True)
class SquarePlan:
    """How a convolution divides into squares: `batch` images of `height` x `width` outputs, `down` x `across` an image."""

    tile: Squares
    batch: int
    height: int
    width: int
    channels: int
    outputs: int

    @property
    def down(self) -> int:
        return -(-self.height // SIDE)

    @property
    def across(self) -> int:
        return -(-self.width // SIDE)

    @property
    def squares(self) -> int:
        return self.batch * self.down * self.across

    @property
    def grid(self) -> Extent:
        return -(-self.squares // self.tile.squares), -(-self.outputs // self.tile.lanes), 1

    @property
    def groups(self) -> int:
        return self.grid[0] * self.grid[1]

    @property
    def idle(self) -> int:
        """Invocations that the last patches of a step leave idle: the first filters are theirs."""
        return -self.tile.squares * self.tile.depth % self.tile.invocations

    def loads(self, words: Mapping[str, float], has_residual: bool) -> float:
        """Words read in all; `words` says how many an element of an operand has."""
        pixels = self.batch * self.height * self.width
        ends = self.squares * self.outputs + (pixels * self.outputs * words["residual"] if has_residual else 0)
        return self.groups * self.tile.loads(self.channels, words["x"], words["weights"]) + ends

    @property
    def cost(self) -> float:
        """In the words of choose_tile: multiply-adds of one word over all invocations, with all that goes with them."""
        tile = self.tile
        products = tile.sums * (tile.depth * (1 + 1 / tile.squares_each + 1 / tile.lanes_each) + STEP_OVERHEAD)
        staging = tile.depth * (tile.squares * STAGED_PATCH + tile.lanes * STAGED_FILTER)
        each = tile.steps(self.channels) * (products + staging) + tile.squares * tile.lanes * END
        return self.groups * each * max(1.0, ENOUGH / (self.groups * tile.invocations))

    @property
    def direct_cost(self) -> float:
        """What the direct sum costs."""
        pixels, terms = self.batch * self.height * self.width, TAPS * self.channels
        return cost_of_tile(choose_tile(pixels, self.outputs, terms), pixels, self.outputs, terms, 1)


def plan_squares(g: Mapping[str, int], channels: int, outputs: int, groups: int) -> SquarePlan | None:
    """How Winograd's convolution does a window of that geometry; None where it cannot, or where the direct sum is not dearer."""
    one = ("stride_height", "stride_width", "dilation_height", "dilation_width")
    if groups != 1 or g["kernel_height"] != 3 or g["kernel_width"] != 3 or any(g[name] != 1 for name in one):
        return None
    plan = _cheapest(g["batch"], g["out_height"], g["out_width"], channels, outputs)
    return plan if plan.cost * MARGIN < plan.direct_cost else None


@cache
def _cheapest(batch: int, height: int, width: int, channels: int, outputs: int) -> SquarePlan:
    plans = (SquarePlan(tile, batch, height, width, channels, outputs) for tile in with_depths())
    return min(plans, key=lambda plan: (plan.cost, plan.tile.shared_words))


def with_depths() -> Iterator[Squares]:
    """Each shape with every depth that fits the shared memory."""
    tiles = (replace(shape, depth=depth) for shape in SHAPES for depth in DEPTHS)
    return (tile for tile in tiles if tile.shared_words * 4 <= MOST_SHARED_BYTES)
