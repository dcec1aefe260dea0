"""Depthwise convolutions of floats."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from edgec.kernels.depthwise import FLOATS, depthwise_reach
from edgec.kernels.variants import Packing, Variant
from edgec.kernels.vectors import WIDTH
from edgec.kernels.windows import lines, row_items
from edgec.program.arguments import Arguments, Window, pointer, real, size
from edgec.program.expr import Number
from edgec.program.program import Pointer


@dataclass(frozen=True)
class DepthwiseFloat(Arguments):
    """One filter per channel. weights: [tap][channels rounded up to 16] float, bias: [channels rounded up to 16]."""

    kernel: ClassVar[str] = "depthwise_float"
    template: ClassVar[str] = "depthwise_float/rows"
    effort: ClassVar[int] = 8
    window: Window
    x: Pointer = pointer("const float")
    weights: Pointer = pointer("const float")
    bias: Pointer = pointer("const float")
    y: Pointer = pointer("float")
    channels: int = size()
    low: float = real()
    high: float = real()

    def reach(self) -> dict[str, Number]:
        return depthwise_reach(self, scaled=False)


@dataclass(frozen=True)
class PixelTile:
    """One vector of channels of `pixels` neighbouring output pixels."""

    pixels: int


SMALL = ((2, 2), (2, 1), (1, 2), (1, 1))
MEDIUM = ((2, 4), (2, 1), (1, 4), (1, 1))
LARGE = ((4, 4), (4, 2), (4, 1), (2, 4), (2, 2), (2, 1), (1, 4), (1, 1))


@dataclass(frozen=True)
class PatchTile:
    """One vector of channels of `patches`, (rows, columns) of output pixels, the largest first, under square windows."""

    kernel: int
    stride: int
    patches: tuple[tuple[int, int], ...]
    held: bool = False  # whether compilers are told in which registers sums stay
    inside: bool = False  # whether the largest has a form for inputs that all lie in the image

    def under(self, pixels: int) -> int:
        """Inputs under so many neighbouring output pixels, along one axis."""
        return (pixels - 1) * self.stride + self.kernel


def patches(
    kernel: int, stride: int, vocabularies: Sequence[str] = ("neon", "dotprod", "i8mm", "neon32"), lanes: int = 4, packing: Packing = FLOATS
) -> Variant:
    """For square windows of this size without dilation.

    lanes: of the widest vectors among these instruction sets.
    """
    tiles = {name: _tile(name, kernel, stride, packing is FLOATS or name == "fp16") for name in vocabularies}
    shape = (kernel, kernel, stride, stride, 1, 1)

    def admits(arguments: DepthwiseFloat) -> bool:
        w = arguments.window
        own = (w.kernel_height, w.kernel_width, w.stride_height, w.stride_width, w.dilation_height, w.dilation_width)
        return own == shape and arguments.channels >= lanes

    name = f"patches{kernel}" if stride == 1 else f"patches{kernel}_by_{stride}"
    return Variant(name, row_items, _outside, tiles, packing, admits, "depthwise_float/patches")


def _tile(vocabulary: str, kernel: int, stride: int, own: bool) -> PatchTile:
    """Half as many registers hold smaller patches, those of NEON larger ones while they hold all taps, too.

    own: whether it computes with numbers as they lie in memory.
    """
    if vocabulary == "neon32":
        return PatchTile(kernel, stride, SMALL)
    return PatchTile(kernel, stride, LARGE if own and kernel == 3 else MEDIUM, held=own, inside=own)


def _outside(arguments: DepthwiseFloat, _: Collection[str]) -> int:
    """A pixel of padding."""
    return lines(4 * arguments.channels)


TILES = {name: PixelTile(8 if lanes == 16 else 4) for name, lanes in WIDTH.items()}
WINDOWS = ((3, 1), (3, 2), (5, 1), (5, 2))  # taps along each axis, and stride
VARIANTS = (*(patches(*window) for window in WINDOWS), Variant("rows", row_items, tiles=TILES, packing=FLOATS))
