"""Products of two computed matrices of floats, the second of which is packed while running."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from edgec.kernels.convolution import PANELS_PER_ITEM
from edgec.kernels.pairs import MatrixPairs, PackedMatrices
from edgec.kernels.variants import Variant
from edgec.kernels.vectors import TILES
from edgec.kernels.windows import ceil_div
from edgec.program.arguments import LANES, PIXEL_BLOCK, Size, pointer
from edgec.program.expr import Expr, Number, expr
from edgec.program.program import Pointer


@dataclass(frozen=True)
class PackFloat(PackedMatrices):
    """Matrices as the panels that ProductFloat reads: outer * inner matrices [in_channels, out_channels] of any strides.

    y: [outer][inner][panel of 16 output channels][in_channels][16], zero padded.
    """

    kernel: ClassVar[str] = "pack_float"
    template: ClassVar[str] = "pack_float/panels"
    x: Pointer = pointer("const float")
    y: Pointer = pointer("float")

    def reach(self) -> dict[str, Number]:
        whole = expr(self.outer) * self.inner * packed_size(self.in_channels, self.out_channels)
        return {"x": self.read(), "y": whole}


@dataclass(frozen=True)
class ProductFloat(MatrixPairs):
    """Products of outer * inner pairs of matrices: y = sum of x * w, w packed by PackFloat. Strides are in elements, rows contiguous."""

    kernel: ClassVar[str] = "product_float"
    template: ClassVar[str] = "product_float/panels"
    x: Pointer = pointer("const float")
    weights: Pointer = pointer("const float")
    y: Pointer = pointer("float")

    def reach(self) -> dict[str, Number]:
        return self.reach_of(packed_size(self.in_channels, self.out_channels))


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
