"""Convolutions of codes whose sums times their multipliers could leave 32 bits, which the fast kernels do not take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgec.kernels.variants import Variant
from edgec.kernels.windows import row_items, taps, window_reach
from edgec.program.arguments import Arguments, Window, pointer, size
from edgec.program.expr import Number
from edgec.program.program import Pointer


@dataclass(frozen=True)
class ConvInt8Any(Arguments):
    """ConvInt8 for any weights of 8 bits less a zero point: weights int16 [out_channel][tap][in_channel], w - z_w.

    Scalar and exact; bias: int32 [out channels], *without* the zero_x correction. No residual, no reading past a pixel.
    """

    kernel: ClassVar[str] = "conv_int8_any"
    template: ClassVar[str] = "conv_int8_any/scalar"
    window: Window
    x: Pointer = pointer("const activation")
    weights: Pointer = pointer("const int16_t")
    bias: Pointer = pointer("const int32_t")
    scale: Pointer = pointer("const float")
    y: Pointer = pointer("activation")
    groups: int = size()
    in_channels: int = size()
    out_channels: int = size()
    zero_x: int = size()
    zero_y: int = size()
    low: int = size()
    high: int = size()

    def reach(self) -> dict[str, Number]:
        outputs = self.groups * self.out_channels
        weights = outputs * taps(self.window) * self.in_channels
        return window_reach(self.window, self.groups * self.in_channels, outputs) | {"weights": weights, "bias": outputs, "scale": outputs}


VARIANTS = (Variant("scalar", row_items),)
