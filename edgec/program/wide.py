"""Arguments of the kernels of 16-bit codes (edgec/program/kernels.py)."""

from __future__ import annotations

from dataclasses import dataclass

from edgec.program.arguments import Window, pointer, size
from edgec.program.program import Pointer


@dataclass(frozen=True)
class ConvInt16:
    """A convolution of 16-bit codes with 8-bit weights, w - z_w: v = fl32(fl32(bias + sum (x - zero_x) * w) * scale), the sum exact.

    y_bytes says what becomes of v: 4, v itself; 2, the code clamp(rint(v), low - zero_y, high - zero_y) + zero_y in int16; 1, the same
    as an activation. weights: [group][panel of 16 output channels][tap][ceil(in_channels / 2)][16][2] int8, zero padded. bias: whole
    numbers in float64 [group][panels * 16], already holding bias - zero_x * sum of weights. scale: float, same shape. Never reads past
    a pixel's channels.
    """

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


@dataclass(frozen=True)
class DepthwiseInt16:
    """One filter per channel of 16-bit codes. weights: [tap][channels rounded up to 16] int8; bias, without any zero_x, and scale:
    [channels rounded up to 16]. y as in ConvInt16."""

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
