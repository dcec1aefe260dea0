"""Products of two computed matrices of codes, the second of which is packed while running."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from edgec.kernels.matrix_int8 import TILES, input_multiple
from edgec.kernels.pairs import MatrixPairs, PackedMatrices
from edgec.kernels.variants import Packing, Variant
from edgec.kernels.windows import ceil_div
from edgec.program.arguments import LANES, PIXEL_BLOCK, Size, pointer, real, size
from edgec.program.expr import Const, Expr, Number, bound, expr
from edgec.program.program import Pointer


@dataclass(frozen=True)
class PackInt8(PackedMatrices):
    """Matrices of codes as the panels that ProductInt8 reads: outer * inner matrices [in_channels, out_channels] of any strides.

    y: [outer][inner][panel of 16 output channels], a panel being [ceil(in_channels, multiple) / 4][16][4] int8, zero padded: the
    codes w, of unsigned ones less 128; then 16 int32, sum_step + minus_zero * sum of w, where minus_zero is what the other operand's
    zero point takes away. panel_bytes: of one panel.
    """

    kernel: ClassVar[str] = "pack_int8"
    template: ClassVar[str] = "pack_int8/panels"
    x: Pointer = pointer("const activation")
    y: Pointer = pointer("int8_t")
    panels: Size = size()
    panel_bytes: Size = size()
    sum_step: Size = size()
    minus_zero: int = size()

    def reach(self) -> dict[str, Number]:
        return {"x": self.read(), "y": expr(self.outer) * self.inner * self.panels * self.panel_bytes}


@dataclass(frozen=True)
class ProductInt8Float(MatrixPairs):
    """Products of outer * inner pairs of matrices: y = fl32(acc) * scale, acc = sum of (x - zero_x) * (w - zero_w), w packed by PackInt8.

    Strides are in elements, and in bytes for the packed operand, which repeats where they are 0; zero_x is in its sums already. Reads up
    to multiple - 1 bytes past a row of x.
    """

    kernel: ClassVar[str] = "product_int8_float"
    template: ClassVar[str] = "product_int8_float/panels"
    x: Pointer = pointer("const activation")
    weights: Pointer = pointer("const int8_t")
    y: Pointer = pointer("float")
    panels: Size = size()
    panel_bytes: Size = size()
    zero_w: int = size()
    scale: float = real()

    def reach(self) -> dict[str, Number]:
        return self.reach_of(expr(self.panels) * self.panel_bytes)

    def reads_past(self, size_of: Callable[[str], int]) -> bool:
        inner = expr(self.in_channels)
        return not isinstance(inner, Const) or panel_depth(self) != inner.value


@dataclass(frozen=True)
class ProductInt8(ProductInt8Float):
    """The same that ends in codes: y = clamp(rint(fl32(acc) * scale), low - zero_y, high - zero_y) + zero_y."""

    kernel: ClassVar[str] = "product_int8"
    template: ClassVar[str] = "product_int8/panels"
    y: Pointer = pointer("activation")
    zero_y: int = size()
    low: int = size()
    high: int = size()


def panel_depth(arguments: ProductInt8Float) -> int:
    """The inputs of a packed panel, where its size is static."""
    return (bound(expr(arguments.panel_bytes)) - 4 * LANES) // LANES


def _panels(arguments: PackInt8) -> Expr:
    """item = matrix * panels + panel."""
    return expr(arguments.outer) * arguments.inner * arguments.panels


def _row_blocks(arguments: ProductInt8Float) -> Expr:
    """item = pair * row_blocks + row_block."""
    return expr(arguments.outer) * arguments.inner * ceil_div(arguments.rows, PIXEL_BLOCK)


PACKING = Packing("made while running", {}, input_multiple)
PACK_VARIANTS = (Variant("panels", _panels, tiles=TILES, packing=PACKING),)
VARIANTS = (Variant("panels", _row_blocks, tiles=TILES, packing=PACKING),)
