"""Products by the matrices of Apple's simdgroups: 32 threads that multiply 8 x 8 numbers together (Apple7 and later)."""

from __future__ import annotations

from dataclasses import dataclass

from edgec.kernels.gpu.limits import Extent

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

    def grid(self, pixels: int, lanes: int, parts: int) -> Extent:
        return -(-pixels // self.pixels), -(-lanes // self.lanes), parts
