"""Maximum pooling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgec.kernels.variants import Variant
from edgec.kernels.windows import row_items, window_reach
from edgec.program.arguments import Arguments, Window, pointer, size
from edgec.program.expr import Number
from edgec.program.program import Pointer


@dataclass(frozen=True)
class PoolMaxInt8(Arguments):
    """Maximum over the window's pixels that lie inside the image, then clamp(low, high)."""

    kernel: ClassVar[str] = "pool_max_int8"
    template: ClassVar[str] = "pool_max_int8/rows"
    window: Window
    x: Pointer = pointer("const activation")
    y: Pointer = pointer("activation")
    channels: int = size()
    low: int = size()
    high: int = size()

    def reach(self) -> dict[str, Number]:
        return window_reach(self.window, self.channels, self.channels)


@dataclass(frozen=True)
class PoolMaxFloat(Arguments):
    kernel: ClassVar[str] = "pool_max_float"
    template: ClassVar[str] = "pool_max_float/rows"
    window: Window
    x: Pointer = pointer("const float")
    y: Pointer = pointer("float")
    channels: int = size()

    def reach(self) -> dict[str, Number]:
        return window_reach(self.window, self.channels, self.channels)


VARIANTS = (Variant("rows", row_items),)
