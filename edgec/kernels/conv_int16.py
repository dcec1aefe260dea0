"""Convolutions of 16-bit codes with 8-bit weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from edgec.kernels.convolution import by_output, conv_items, conv_reach, conv_scratch, lanes_of, pack_by_panels, padded_panels, round_up
from edgec.kernels.variants import Packing, Variant
from edgec.kernels.vectors import TILES
from edgec.kernels.windows import taps
from edgec.program.arguments import Arguments, Window, pointer, size
from edgec.program.expr import Number
from edgec.program.program import Pointer


@dataclass(frozen=True)
class ConvInt16(Arguments):
    """A convolution of 16-bit codes with 8-bit weights, w - z_w: v = fl32(fl32(bias + sum (x - zero_x) * w) * scale), the sum exact.

    y_bytes says what becomes of v: 4, v itself; 2, the code clamp(rint(v), low - zero_y, high - zero_y) + zero_y in int16; 1, the same
    as an activation. weights: [group][panel of 16 output channels][tap][ceil(in_channels / 2)][16][2] int8, zero padded. bias: whole
    numbers in float64 [group][panels * 16], already holding bias - zero_x * sum of weights. scale: float, same shape. Never reads past
    a pixel's channels.
    """

    kernel: ClassVar[str] = "conv_int16"
    template: ClassVar[str] = "conv_int16/pairs"
    window: Window
    x: Pointer = pointer("const int16_t")
    weights: Pointer = pointer("const int8_t")
    bias: Pointer = pointer("const double")
    scale: Pointer = pointer("const float")
    y: Pointer = pointer("void")
    y_bytes: int = size()
    groups: int = size()
    in_channels: int = size()  # of one group
    out_channels: int = size()  # of one group
    zero_x: int = size()
    zero_y: int = size()
    low: int = size()
    high: int = size()

    def reach(self) -> dict[str, Number]:
        weights = lanes_of(self) * taps(self.window) * round_up(self.in_channels, 2)
        return conv_reach(self, weights) | {"scale": lanes_of(self)}


def pack_pairs(weights: np.ndarray) -> np.ndarray:
    """[group][panel][tap][in / 2][16][2] int8, an odd last input's pair filled with zero."""
    padded = padded_panels(weights, round_up(weights.shape[3], 2), np.int8)
    return np.ascontiguousarray(padded.reshape(*padded.shape[:-1], -1, 2).transpose(0, 1, 3, 4, 2, 5)).reshape(-1)


PACKING = Packing(
    "panels of 16x2",
    {"weights": lambda arguments, plain, _: pack_pairs(by_output(arguments, plain)), "bias": pack_by_panels, "scale": pack_by_panels},
)
VARIANTS = (Variant("pairs", conv_items, conv_scratch(2), TILES, PACKING),)
