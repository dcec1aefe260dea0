"""Smooth functions of floats, which networks have behind nearly every convolution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgec.kernels.variants import Variant
from edgec.kernels.vectors import WIDTH, BlockTile
from edgec.kernels.windows import ceil_div, strided
from edgec.program.arguments import Arguments, Size, pointer, size
from edgec.program.expr import Number, expr
from edgec.program.program import Pointer

BLOCK = 1024  # elements of an item


@dataclass(frozen=True)
class FunctionFloat(Arguments):
    """y = f(x) + residual of `count` elements.

    They lie in rows of `columns`, one beside the other, whole rows a stride apart. f of NaN is NaN.
    y may be x or the residual, where their elements lie alike. What comes of an element does not depend on where it lies.
    """

    effort: ClassVar[int] = 48
    x: Pointer = pointer("const float")
    residual: Pointer | None = pointer("const float")
    y: Pointer = pointer("float")
    count: Size = size()
    columns: Size = size()
    x_row_stride: int = size()
    residual_row_stride: int = size()
    y_row_stride: int = size()

    def reach(self) -> dict[str, Number]:
        rows = expr(self.count) // self.columns
        return {name: strided([(rows, getattr(self, f"{name}_row_stride"))], self.columns) for name in ("x", "residual", "y")}

    def in_place(self) -> tuple[str, ...]:
        both = (("x", self.x, self.x_row_stride), ("residual", self.residual, self.residual_row_stride))
        alike = [name for name, place, stride in both if place is not None and (place.offset, stride) == (self.y.offset, self.y_row_stride)]
        others = [place.buffer for name, place, _ in both if place is not None and name not in alike]
        return tuple(getattr(self, name).buffer for name in alike if getattr(self, name).buffer not in others)


@dataclass(frozen=True)
class SwishFloat(FunctionFloat):
    """f = x / (1 + e^-x) within 3 units of the last place; below -88 it is x * e^-88."""

    kernel: ClassVar[str] = "swish_float"
    template: ClassVar[str] = "swish_float/rows"


@dataclass(frozen=True)
class GeluFloat(FunctionFloat):
    """f = x/2 (1 + erf(x / sqrt 2)) within 6 times 2^-24 of x; 0 below -5.4, x above 5.4."""

    kernel: ClassVar[str] = "gelu_float"
    template: ClassVar[str] = "gelu_float/rows"


TILES = dict.fromkeys(WIDTH, BlockTile(BLOCK))
VARIANTS = (Variant("rows", lambda arguments: ceil_div(arguments.count, BLOCK), tiles=TILES),)
