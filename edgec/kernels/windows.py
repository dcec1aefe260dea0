"""How far kernels reach that slide a window over channels-last images, or walk axes of any strides."""

from __future__ import annotations

from typing import Any

from edgec.program.arguments import PIXEL_BLOCK, Size, Window
from edgec.program.expr import Expr, Number, expr

POINTER_BYTES = 8
CACHE_LINE = 64


def ceil_div(a: Number, b: int) -> Expr:
    return (expr(a) + (b - 1)) // b


def out_pixels(window: Window) -> Expr:
    return expr(window.batch) * window.out_height * window.out_width


def taps(window: Window) -> int:
    return window.kernel_height * window.kernel_width


def row_items(arguments: Any) -> Expr:
    """One item an output row."""
    window: Window = arguments.window
    return expr(window.batch) * window.out_height


def tap_pointers(window: Window) -> int:
    """Bytes of the pointers to every tap of one pixel block."""
    return lines(taps(window) * PIXEL_BLOCK * POINTER_BYTES)


def lines(count: int) -> int:
    """Bytes, in whole cache lines."""
    return -(-count // CACHE_LINE) * CACHE_LINE


def window_reach(window: Window, inputs: int, outputs: int) -> dict[str, Number]:
    """How many elements of x and y a window touches, of this many channels."""
    return {
        "x": pixel_reach(window.batch, window.in_height, window.in_width, window.in_pixel_stride, inputs),
        "y": pixel_reach(window.batch, window.out_height, window.out_width, window.out_pixel_stride, outputs),
    }


def residual_reach(arguments: Any) -> Expr:
    """The same of a tensor that is added to the result."""
    window, outputs = arguments.window, getattr(arguments, "groups", 1) * arguments.out_channels
    return pixel_reach(window.batch, window.out_height, window.out_width, arguments.residual_pixel_stride, outputs)


def pixel_reach(batch: Size, height: Size, width: Size, stride: Size, channels: int) -> Expr:
    return (expr(batch) * height * width - 1) * stride + channels


def strided(axes: list[tuple[Size, Size]], last: Size) -> Expr:
    """One past the last element of `last` neighbours at the end of axes of these sizes and strides."""
    total = expr(last)
    for count, stride in axes:
        total = total + (expr(count) - 1) * stride
    return total
