"""Winograd's convolution F(2x2, 3x3): 16 multiplications make four outputs of a channel instead of 36. How a convolution divides for it.

A square of 2 x 2 outputs sees a patch of 4 x 4 inputs. Patches and filters are transformed while they are staged in shared memory, then
each of their 16 elements is a matrix product of its own over the input channels, and 24 additions turn the 16 sums into four outputs. All
factors of the transforms are 1 or 1/2, so rounding errors stay close to those of the direct sum. An input that is not finite spoils all
four outputs of the squares that see it, where the direct sum might have spared some.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgec.kernels.gpu.limits import MOST_SHARED_BYTES, Extent

MATRICES = 16  # of a patch and of a filter; an invocation multiplies in one of them
TAPS = 9
SIDE = 2  # of a square
BANKS = 32  # of shared memory


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
