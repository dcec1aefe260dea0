"""Depthwise convolutions of floats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgec.kernels.depthwise import FLOATS, depthwise_reach
from edgec.kernels.variants import Variant
from edgec.kernels.vectors import WIDTH
from edgec.kernels.windows import row_items
from edgec.program.arguments import Arguments, Window, pointer, real, size
from edgec.program.expr import Number
from edgec.program.program import Pointer


@dataclass(frozen=True)
class DepthwiseFloat(Arguments):
    """One filter per channel. weights: [tap][channels rounded up to 16] float, bias: [channels rounded up to 16]."""

    kernel: ClassVar[str] = "depthwise_float"
    template: ClassVar[str] = "depthwise_float"
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


TILES = {name: PixelTile(8 if lanes == 16 else 4) for name, lanes in WIDTH.items()}
VARIANTS = (Variant("rows", row_items, tiles=TILES, packing=FLOATS),)
