"""Attention in floats: softmax of products, times values, a block of rows at a time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

from edgec.kernels.convolution import round_up
from edgec.kernels.pairs import pairs_of, rows_of
from edgec.kernels.product_float import packed_size
from edgec.kernels.variants import Variant
from edgec.kernels.vectors import TILES
from edgec.kernels.windows import ceil_div, lines, strided
from edgec.program.arguments import LANES, PIXEL_BLOCK, Arguments, Size, pointer, real, size
from edgec.program.expr import Expr, Number, bound, expr
from edgec.program.program import Pointer

COLUMN_BLOCK = 128  # columns whose scores fit the first cache, with the keys or values of these columns
SHARING = 4  # blocks of rows
CACHE = 1 << 18  # bytes of keys and values that stay in the second cache of most processors


@dataclass(frozen=True)
class AttentionFloat(Arguments):
    """y = softmax(scale * (query * keys) + mask) * values for outer * inner triples of matrices, softmax along the columns.

    query: [rows, channels], mask: [rows, columns] or absent, y: [rows, value_channels], their last axes contiguous; keys:
    [channels, columns] and values: [columns, value_channels], packed by PackFloat. What has a stride of 0 repeats.
    """

    kernel: ClassVar[str] = "attention_float"
    template: ClassVar[str] = "attention_float/rows"
    query: Pointer = pointer("const float")
    keys: Pointer = pointer("const float")
    values: Pointer = pointer("const float")
    mask: Pointer | None = pointer("const float")
    y: Pointer = pointer("float")
    outer: Size = size()
    inner: Size = size()
    rows: Size = size()
    columns: Size = size()
    channels: Size = size()
    value_channels: Size = size()
    query_outer_stride: Size = size()
    query_inner_stride: Size = size()
    query_row_stride: Size = size()
    keys_outer_stride: Size = size()
    keys_inner_stride: Size = size()
    values_outer_stride: Size = size()
    values_inner_stride: Size = size()
    mask_outer_stride: Size = size()
    mask_inner_stride: Size = size()
    mask_row_stride: Size = size()
    y_outer_stride: Size = size()
    y_inner_stride: Size = size()
    y_row_stride: Size = size()
    row_block: int = size()
    column_block: int = size()
    scale: float = real()

    def reach(self) -> dict[str, Number]:
        return {
            "query": strided(rows_of(self, "query"), self.channels),
            "keys": strided(pairs_of(self, "keys"), packed_size(self.channels, self.columns)),
            "values": strided(pairs_of(self, "values"), packed_size(self.columns, self.value_channels)),
            "mask": strided(rows_of(self, "mask"), self.columns),
            "y": strided(rows_of(self, "y"), self.value_channels),
        }


def blocks(rows: Size, columns: Size, channels: Size, value_channels: Size) -> tuple[int, int]:
    """(rows of an item, columns whose scores lie in scratch memory at once).

    Several blocks of rows share a walk over keys and values that no small cache holds.
    """
    walked = bound(expr(columns) * (expr(channels) + value_channels)) * 4
    most = PIXEL_BLOCK if walked <= CACHE else SHARING * PIXEL_BLOCK
    return min(most, bound(expr(rows))), min(COLUMN_BLOCK, round_up(bound(expr(columns)), LANES))


def _items(arguments: AttentionFloat) -> Expr:
    """item = triple * row_blocks + row_block."""
    return expr(arguments.outer) * arguments.inner * ceil_div(arguments.rows, arguments.row_block)


def _scratch(arguments: AttentionFloat, _: Collection[str]) -> int:
    """By row a number and a vector, and sums of values; scores of a block of rows."""
    by_row = 1 + LANES + round_up(bound(expr(arguments.value_channels)), LANES)
    return lines(4 * (arguments.row_block * by_row + min(PIXEL_BLOCK, arguments.row_block) * arguments.column_block))


VARIANTS = (Variant("rows", _items, _scratch, TILES, headers=dict.fromkeys(TILES, ("float_exp.h",))),)
