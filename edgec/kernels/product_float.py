"""Products of two computed matrices of floats, the second of which is packed while running."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgec.kernels.convolution import PANELS_PER_ITEM
from edgec.kernels.variants import Variant
from edgec.kernels.vectors import TILES
from edgec.kernels.windows import ceil_div, strided
from edgec.program.arguments import LANES, PIXEL_BLOCK, Arguments, Size, pointer, real, size
from edgec.program.expr import Expr, Number, expr
from edgec.program.program import Pointer


@dataclass(frozen=True)
class PackFloat(Arguments):
    """Matrices as the panels that ProductFloat reads: outer * inner matrices [in_channels, out_channels] of any strides.

    y: [outer][inner][panel of 16 output channels][in_channels][16], zero padded.
    """

    kernel: ClassVar[str] = "pack_float"
    template: ClassVar[str] = "pack_float"
    x: Pointer = pointer("const float")
    y: Pointer = pointer("float")
    outer: Size = size()
    inner: Size = size()
    outer_stride: Size = size()
    inner_stride: Size = size()
    k_stride: Size = size()
    n_stride: Size = size()
    in_channels: Size = size()
    out_channels: Size = size()

    def reach(self) -> dict[str, Number]:
        axes = [(self.outer, self.outer_stride), (self.inner, self.inner_stride), (self.in_channels, self.k_stride)]
        whole = expr(self.outer) * self.inner * packed_size(self.in_channels, self.out_channels)
        return {"x": strided([*axes, (self.out_channels, self.n_stride)], 1), "y": whole}


@dataclass(frozen=True)
class ProductFloat(Arguments):
    """Products of outer * inner pairs of matrices: y = scale * (sum of x * w), w packed by PackFloat; rows of x lie together.

    Strides are in elements. A matrix whose strides are 0 is the same for all.
    """

    kernel: ClassVar[str] = "product_float"
    template: ClassVar[str] = "product_float"
    x: Pointer = pointer("const float")
    weights: Pointer = pointer("const float")
    y: Pointer = pointer("float")
    outer: Size = size()
    inner: Size = size()
    rows: Size = size()
    in_channels: Size = size()
    out_channels: Size = size()
    x_outer_stride: Size = size()
    x_inner_stride: Size = size()
    x_row_stride: Size = size()
    weights_outer_stride: Size = size()
    weights_inner_stride: Size = size()
    y_outer_stride: Size = size()
    y_inner_stride: Size = size()
    y_row_stride: Size = size()
    scale: float = real()

    def reach(self) -> dict[str, Number]:
        x = [(self.outer, self.x_outer_stride), (self.inner, self.x_inner_stride), (self.rows, self.x_row_stride)]
        weights = [(self.outer, self.weights_outer_stride), (self.inner, self.weights_inner_stride)]
        y = [(self.outer, self.y_outer_stride), (self.inner, self.y_inner_stride), (self.rows, self.y_row_stride)]
        return {
            "x": strided(x, self.in_channels),
            "weights": strided(weights, packed_size(self.in_channels, self.out_channels)),
            "y": strided(y, self.out_channels),
        }


def packed_size(in_channels: Size, out_channels: Size) -> Expr:
    """Elements of one packed matrix."""
    return ceil_div(out_channels, LANES) * LANES * in_channels


def _panels(arguments: PackFloat) -> Expr:
    """item = matrix * panels + panel."""
    return expr(arguments.outer) * arguments.inner * ceil_div(arguments.out_channels, LANES)


def _blocks(arguments: ProductFloat) -> Expr:
    """item = (pair * panel_chunks + chunk) * row_blocks + row_block, of PANELS_PER_ITEM panels and PIXEL_BLOCK rows."""
    chunks = ceil_div(arguments.out_channels, PANELS_PER_ITEM * LANES)
    return expr(arguments.outer) * arguments.inner * chunks * ceil_div(arguments.rows, PIXEL_BLOCK)


PACK_VARIANTS = (Variant("panels", _panels),)
VARIANTS = (Variant("panels", _blocks, tiles=TILES),)
