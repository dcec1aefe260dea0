"""Pixels of codes times one number for each channel, as attention over channels (squeeze and excite) ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgec.kernels.variants import Variant
from edgec.kernels.vectors import WIDTH, BlockTile
from edgec.kernels.windows import ceil_div, strided
from edgec.program.arguments import Arguments, Size, pointer, real, size
from edgec.program.expr import Expr, Number, expr
from edgec.program.program import Pointer

BLOCK = 32  # pixels of an item


@dataclass(frozen=True)
class MultiplyInt8(Arguments):
    """y = clamp(rint(fl32(fl32((x - zero_x) * (by - zero_by)) * scale)), low - zero_y, high - zero_y) + zero_y, clause 6 of docs/int8.md.

    x and y: `images` of `pixels` each, evenly apart, with `channels` neighbours; by: for each image
    `channels` neighbours.
    """

    kernel: ClassVar[str] = "multiply_int8"
    template: ClassVar[str] = "multiply_int8/rows"
    x: Pointer = pointer("const activation")
    by: Pointer = pointer("const activation")
    y: Pointer = pointer("activation")
    images: Size = size()
    pixels: Size = size()
    channels: int = size()
    x_pixel_stride: Size = size()
    by_image_stride: Size = size()
    y_pixel_stride: Size = size()
    zero_x: int = size()
    zero_by: int = size()
    zero_y: int = size()
    low: int = size()
    high: int = size()
    scale: float = real()

    def reach(self) -> dict[str, Number]:
        count = expr(self.images) * self.pixels
        x, y = (strided([(count, stride)], self.channels) for stride in (self.x_pixel_stride, self.y_pixel_stride))
        return {"x": x, "y": y, "by": strided([(self.images, self.by_image_stride)], self.channels)}

    def in_place(self) -> tuple[str, ...]:
        alike = (self.x.offset, self.x_pixel_stride) == (self.y.offset, self.y_pixel_stride)
        return (self.x.buffer,) if alike and self.x.buffer != self.by.buffer else ()


def _items(arguments: MultiplyInt8) -> Expr:
    """Blocks of pixels, image after image."""
    return expr(arguments.images) * ceil_div(expr(arguments.pixels), BLOCK)


VARIANTS = (Variant("rows", _items, tiles=dict.fromkeys(WIDTH, BlockTile(BLOCK))),)
