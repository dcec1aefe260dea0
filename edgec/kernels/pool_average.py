"""Average pooling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgec.kernels.variants import Variant
from edgec.kernels.windows import row_items, taps, window_reach
from edgec.program.arguments import Arguments, Window, pointer, size
from edgec.program.expr import Number
from edgec.program.program import Pointer


@dataclass(frozen=True)
class PoolAverageInt8(Arguments):
    """y = clamp(rint(fl32(sum (x - zero_x)) * scale[count]), low - zero_y, high - zero_y) + zero_y over the inside pixels.

    scale: float [kernel_height * kernel_width + 1], indexed by the number of pixels counted (all of the window's when
    count_include_pad; pixels beyond the padding never count). pad_bottom and pad_right bound the padded image.
    """

    kernel: ClassVar[str] = "pool_average_int8"
    template: ClassVar[str] = "pool_average_int8/rows"
    window: Window
    x: Pointer = pointer("const activation")
    scale: Pointer = pointer("const float")
    y: Pointer = pointer("activation")
    channels: int = size()
    count_include_pad: int = size()
    pad_bottom: int = size()
    pad_right: int = size()
    zero_x: int = size()
    zero_y: int = size()
    low: int = size()
    high: int = size()

    def reach(self) -> dict[str, Number]:
        return window_reach(self.window, self.channels, self.channels) | {"scale": taps(self.window) + 1}


@dataclass(frozen=True)
class PoolAverageFloat(Arguments):
    """y = fl32(sum of the inside pixels, in (y, x) order from 0) / fl32(count), count as in PoolAverageInt8."""

    kernel: ClassVar[str] = "pool_average_float"
    template: ClassVar[str] = "pool_average_float/rows"
    window: Window
    x: Pointer = pointer("const float")
    y: Pointer = pointer("float")
    channels: int = size()
    count_include_pad: int = size()
    pad_bottom: int = size()
    pad_right: int = size()

    def reach(self) -> dict[str, Number]:
        return window_reach(self.window, self.channels, self.channels)


VARIANTS = (Variant("rows", row_items),)
