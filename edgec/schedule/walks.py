"""In which order a float product reads images and weights that lie beyond the second cache: few bytes, and none that it would wait for.

A kernel walks over the pixels in blocks, once for some panels of weights at a time, which half of that cache holds. So weights come from
beyond it once, and the image once in each walk, unless the cache has room for it; while a block is multiplied, the next one is fetched.
"""

from __future__ import annotations

from dataclasses import replace

from edgec.kernels import ConvFloat
from edgec.kernels.convolution import PANELS_PER_ITEM, panel_count
from edgec.kernels.windows import taps
from edgec.program.arguments import LANES, PIXEL_BLOCK, Arguments, Window
from edgec.program.expr import bound, expr
from edgec.targets import Target

FLOAT_BYTES = 4


def with_walks(arguments: Arguments, target: Target) -> Arguments:
    """`arguments` with the order of reading, where the target tells what its caches hold."""
    if type(arguments) is not ConvFloat or not target.second_cache:
        return arguments
    held = held_panels(arguments, target.second_cache)
    return replace(arguments, held_panels=held, fetches=int(fetches(arguments, held, target.second_cache)))


def held_panels(arguments: ConvFloat, cache: int) -> int:
    """As many as half of a cache holds, in whole items of work: each walk reads the image again."""
    items = max(cache // 2 // _panel_bytes(arguments) // PANELS_PER_ITEM, 1)
    return PANELS_PER_ITEM * min(items, -(-panel_count(arguments.out_channels) // PANELS_PER_ITEM))


def fetches(arguments: ConvFloat, held: int, cache: int) -> bool:
    """Whether pixels lie one behind the other, in an image that a cache cannot hold, and two blocks of them beside the panels it can."""
    window, pixel = arguments.window, FLOAT_BYTES * arguments.in_channels
    if not _is_dense(window, arguments.in_channels):
        return False
    image = pixel * bound(expr(window.batch) * window.in_height * window.in_width)
    return image > cache >= held * _panel_bytes(arguments) + 2 * PIXEL_BLOCK * pixel


def _panel_bytes(arguments: ConvFloat) -> int:
    return FLOAT_BYTES * LANES * taps(arguments.window) * arguments.in_channels


def _is_dense(w: Window, channels: int) -> bool:
    """Whether inputs are those of one pixel after the other, each used at one place."""
    whole = expr(w.in_height) == expr(w.out_height) and expr(w.in_width) == expr(w.out_width)
    alone = (w.kernel_height, w.kernel_width, w.stride_height, w.stride_width, w.pad_top, w.pad_left) == (1, 1, 1, 1, 0, 0)
    return whole and alone and expr(w.in_pixel_stride) == expr(channels)
