"""How the outputs of a product (convolution, matrix product) divide over workgroups, and depthwise ones over invocations."""

from __future__ import annotations

from dataclasses import dataclass

LANES_EACH = 4  # output channels of an invocation: in 8 bits they make one word


@dataclass(frozen=True)
class Tile:
    """The part of a product that one workgroup makes: `pixels` x `lanes` outputs, each invocation `pixels_each` x LANES_EACH.

    The sum over `rows` (words of a pixel's window) goes in steps of `depth` rows, which are staged in shared memory. With `slices` > 1 that
    many invocations share an output's rows, and their sums are added at the end.
    """

    pixels: int
    pixels_each: int
    lanes: int
    slices: int = 1
    depth: int = 0

    @property
    def pixel_groups(self) -> int:
        return self.pixels // self.pixels_each

    @property
    def lane_groups(self) -> int:
        return self.lanes // LANES_EACH

    @property
    def invocations(self) -> int:
        return self.pixel_groups * self.lane_groups * self.slices

    @property
    def pitch(self) -> int:
        """Words from one staged row of pixels to the next: neighbours in a column must not meet in one bank."""
        return self.pixels + 1

    @property
    def shared_words(self) -> int:
        sums = self.slices * self.pixels * self.lanes if self.slices > 1 else 0
        return max(self.depth * (self.pitch + self.lanes), sums)

    def steps(self, rows: int) -> int:
        return -(-rows // self.depth)

    def loads(self, rows: int, words_each: int = 1) -> int:
        """Words that a workgroup stages for all its steps, `words_each` for one of x."""
        return self.steps(rows) * self.depth * (self.pixels * words_each + self.lanes)


@dataclass(frozen=True)
class Strip:
    """Neighbouring pixels of an output row that one invocation of a depthwise kernel makes. unrolled: window columns are written out."""

    pixels: int
    unrolled: bool = True


def columns(pixels: int, kernel: int, stride: int, dilation: int) -> list[tuple[int, list[tuple[int, int]]]]:
    """Each column of x that a strip needs, counted from the first pixel's first one, with the (pixel, tap) pairs that it lies under."""
    found: dict[int, list[tuple[int, int]]] = {}
    for pixel in range(pixels):
        for tap in range(kernel):
            found.setdefault(pixel * stride + tap * dilation, []).append((pixel, tap))
    return sorted(found.items())
