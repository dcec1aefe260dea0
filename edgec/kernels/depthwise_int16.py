"""Depthwise convolutions of 16-bit codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgec.kernels.depthwise import CODES, depthwise_reach
from edgec.kernels.variants import Variant
from edgec.kernels.vectors import WIDTH
from edgec.kernels.windows import row_items
from edgec.program.arguments import Arguments, Window, pointer, size
from edgec.program.expr import Number
from edgec.program.program import Pointer


@dataclass(frozen=True)
class DepthwiseInt16(Arguments):
    """One filter per channel of 16-bit codes. weights: [tap][channels rounded up to 16] int8; bias, without any zero_x, and scale:
    [channels rounded up to 16]. y as in ConvInt16."""

    kernel: ClassVar[str] = "depthwise_int16"
    template: ClassVar[str] = "depthwise_int16/rows"
    window: Window
    x: Pointer = pointer("const int16_t")
    weights: Pointer = pointer("const int8_t")
    bias: Pointer = pointer("const double")
    scale: Pointer = pointer("const float")
    y: Pointer = pointer("void")
    y_bytes: int = size()
    channels: int = size()
    zero_x: int = size()
    zero_y: int = size()
    low: int = size()
    high: int = size()

    def reach(self) -> dict[str, Number]:
        return depthwise_reach(self, scaled=True)


@dataclass(frozen=True)
class ChannelTile:
    """A block of 16 channels of one output pixel, in vectors."""

    lanes: int  # floats in a vector


TILES = {name: ChannelTile(lanes) for name, lanes in WIDTH.items()}
VARIANTS = (Variant("rows", row_items, tiles=TILES, packing=CODES),)
