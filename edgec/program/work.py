"""How template kernels divide into work items, and the scratch memory one thread needs. Equal for every vocabulary."""

from __future__ import annotations

from edgec.program.arguments import LANES, PIXEL_BLOCK, Window
from edgec.program.attention import PackInt8, ProductInt8Float, SoftmaxInt8
from edgec.program.expr import Expr, Number, expr
from edgec.program.kernels import ConvFloat, ConvInt8, ConvInt8Float, ConvInt8Function, DepthwiseInt8, RowsCodes8
from edgec.program.wide import ConvInt16

PANELS_PER_ITEM = 8  # weight panels that share one set of tap pointers
POINTER_BYTES = 8
CACHE_LINE = 64


def ceil_div(a: Number, b: int) -> Expr:
    return (expr(a) + (b - 1)) // b


def out_pixels(window: Window) -> Expr:
    return expr(window.batch) * window.out_height * window.out_width


def panels(out_channels: int) -> int:
    """Weight panels of one group."""
    return -(-out_channels // LANES)


def work_items(arguments: object) -> Expr:
    """Number of work items.

    Convolutions, products of rows: item = (group * panel_chunks + chunk) * pixel_blocks + pixel_block, a chunk being PANELS_PER_ITEM
    panels and a pixel block PIXEL_BLOCK consecutive output pixels. Products of pairs: item = pair * row_blocks + row_block; their packing:
    item = matrix * panels + panel. Softmax: one item a row. All other kernels: one item an output row, batch * out_height.
    """
    if isinstance(arguments, SoftmaxInt8):
        return expr(arguments.rows)
    if isinstance(arguments, PackInt8):
        return expr(arguments.outer) * arguments.inner * arguments.panels
    if isinstance(arguments, ProductInt8Float):
        return expr(arguments.outer) * arguments.inner * ceil_div(arguments.rows, PIXEL_BLOCK)
    window: Window = arguments.window  # type: ignore[attr-defined]
    if isinstance(arguments, (ConvInt8, ConvInt8Float, ConvInt8Function, ConvInt16, ConvFloat, RowsCodes8)):
        chunks = -(-panels(arguments.out_channels) // PANELS_PER_ITEM)
        groups = 1 if isinstance(arguments, RowsCodes8) else arguments.groups
        return ceil_div(out_pixels(window), PIXEL_BLOCK) * (groups * chunks)
    return expr(window.batch) * window.out_height


def scratch_bytes(arguments: object) -> int:
    """Scratch of one thread, a multiple of 64: tap pointers for one pixel block (8 bytes each) and rows of padding, if it uses them."""
    if not isinstance(arguments, (ConvInt8, ConvInt8Float, ConvInt8Function, ConvInt16, ConvFloat, DepthwiseInt8)):
        return 0
    window: Window = arguments.window
    taps = window.kernel_height * window.kernel_width
    if isinstance(arguments, DepthwiseInt8):
        row = arguments.channels + LANES
        return _lines(taps * PIXEL_BLOCK * POINTER_BYTES) + _lines(row) + _lines(row * 4)
    row = arguments.in_channels * {ConvFloat: 4, ConvInt16: 2}.get(type(arguments), 1) + LANES
    return _lines(taps * PIXEL_BLOCK * POINTER_BYTES) + _lines(row)


def _lines(count: int) -> int:
    return -(-count // CACHE_LINE) * CACHE_LINE
