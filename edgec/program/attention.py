"""Arguments of the kernels of attention: products of two matrices that are computed, and Softmax, of codes (edgec/program/kernels.py)."""

from __future__ import annotations

from dataclasses import dataclass

from edgec.program.arguments import LANES, Size, pointer, real, size
from edgec.program.expr import bound, expr
from edgec.program.program import Pointer


@dataclass(frozen=True)
class PackInt8:
    """Matrices of codes as the panels that ProductInt8 reads: outer * inner matrices [in_channels, out_channels] of any strides.

    y: [outer][inner][panel of 16 output channels], a panel being [ceil(in_channels, k_multiple) / 4][16][4] int8, zero padded: the
    codes w, of unsigned ones less 128; then 16 int32, sum_step + minus_zero * sum of w, where minus_zero is what the other operand's
    zero point takes away. panel_bytes: of one panel.
    """

    x: Pointer = pointer("const activation")
    y: Pointer = pointer("int8_t")
    outer: Size = size()
    inner: Size = size()
    outer_stride: Size = size()
    inner_stride: Size = size()
    k_stride: Size = size()
    n_stride: Size = size()
    in_channels: Size = size()
    out_channels: Size = size()
    panels: Size = size()
    panel_bytes: Size = size()
    sum_step: Size = size()
    minus_zero: int = size()


@dataclass(frozen=True)
class ProductInt8Float:
    """Products of outer * inner pairs of matrices: y = fl32(acc) * scale, acc = sum of (x - zero_x) * (w - zero_w), w packed by PackInt8.

    Strides are in elements, and in bytes for the packed operand, which repeats where they are 0; zero_x is in its sums already. Reads up
    to k_multiple - 1 bytes past a row of x.
    """

    x: Pointer = pointer("const activation")
    weights: Pointer = pointer("const int8_t")
    y: Pointer = pointer("float")
    outer: Size = size()
    inner: Size = size()
    rows: Size = size()
    x_outer_stride: Size = size()
    x_inner_stride: Size = size()
    x_row_stride: Size = size()
    weights_outer_stride: Size = size()
    weights_inner_stride: Size = size()
    y_outer_stride: Size = size()
    y_inner_stride: Size = size()
    y_row_stride: Size = size()
    in_channels: Size = size()
    out_channels: Size = size()
    panels: Size = size()
    panel_bytes: Size = size()
    zero_w: int = size()
    scale: float = real()


@dataclass(frozen=True)
class ProductInt8(ProductInt8Float):
    """The same that ends in codes: y = clamp(rint(fl32(acc) * scale), low - zero_y, high - zero_y) + zero_y."""

    y: Pointer = pointer("activation")
    zero_y: int = size()
    low: int = size()
    high: int = size()


@dataclass(frozen=True)
class SoftmaxInt8:
    """Softmax of rows: s = the sum of table[255 - (most - x)] over a row, most being its largest code; then, by one division a row,

    y = clamp(rint(fl32(table[255 - (most - x)]) * (inverse / fl32(s))), low - zero_y, high - zero_y) + zero_y. table: int32 [256].
    """

    x: Pointer = pointer("const activation")
    table: Pointer = pointer("const int32_t")
    y: Pointer = pointer("activation")
    rows: Size = size()
    columns: Size = size()
    inverse: float = real()
    zero_y: int = size()
    low: int = size()
    high: int = size()


def panel_depth(arguments: ProductInt8Float) -> int:
    """The inputs of a packed panel, where its size is static."""
    return (bound(expr(arguments.panel_bytes)) - 4 * LANES) // LANES
