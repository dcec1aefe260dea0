"""The ways to compute convolutions of codes with 8-bit weights."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from math import lcm
from typing import Any, ClassVar

import numpy as np

from edgec.kernels.conv_int8 import PACKING, pack_int8
from edgec.kernels.conv_int8_dots import dots
from edgec.kernels.convolution import PANELS_PER_ITEM, conv_items, conv_scratch, lanes_of, round_up
from edgec.kernels.matrix_int8 import TILES as MATRIX_TILES
from edgec.kernels.matrix_int8 import MatrixTile, input_multiple
from edgec.kernels.variants import Packing, Variant
from edgec.kernels.windows import lines, out_pixels, taps
from edgec.kernels.winograd_int8 import HEADERS as WINOGRAD_HEADERS
from edgec.kernels.winograd_int8 import (
    LARGE_TILES,
    NARROW_TILES,
    OUTDONE,
    WinogradTile,
    admits,
    admits_large,
    admits_narrow,
    pays,
    pays_large,
    pays_narrow,
    scratch,
)
from edgec.kernels.winograd_int8 import TILES as WINOGRAD_TILES
from edgec.program.arguments import LANES, PIXEL_BLOCK, Window
from edgec.program.expr import bound, expr

LINE_CODES, LINE_BEFORE, LINE_SLACK = 28, 64, 192  # of a window in lines with what weighs nothing; before and behind the codes of a line
SLACK = 16  # codes between gathered windows, which copies of whole registers may touch


@dataclass(frozen=True)
class ConvTile(MatrixTile):
    """A tile whose height depends on its width, as `heights` says in the manner of `rows`, for 1 to `panels` panels.

    split: of how many panels the next tile is, by how many of a work item are left, from 1 on; at most `narrow` where their weights
    would be more than `held` bytes, and leave the first-level cache before the next pixels need them.
    alone: of more panels than one for a single pixel alone.
    together: so many panels' sums of a pixel become one packed_t of codes, which is as many registers as it takes.
    by_two: two units of weights pass at once, where pixels are held.
    kept_scales: registers hold the scales of a panel while all pixels of a tile end.
    whole: tiles all of which is stored, with whatever codes there are, end without a question.
    deep: these take two steps of inputs at once.
    halves: these are of half a panel and twice the pixels, and the sums of others are held one after the other, where registers are few.
    passing: the first of their weights are loaded by an instruction that takes the pointer to the next ones as well.
    joined: taps in a row of a window are a single one where they are neighbours in memory.
    even: tiles of pixels that are equally far apart, as those of a matrix are, go without a list of pointers and ask once what they share.
    tails: of a panel and at most half of another one these are summed otherwise.
    short_windows: those of at most 32 codes are gathered in a register.
    gathered: windows of so many blocks of pixels at most are gathered together; all but one of these take three quarters of `held` bytes.
    lines: windows of three rows of nine codes are taken from the rows of the image, as they lie in lines with what is around them.
    parts: of the codes of merged windows, the last four may be summed without four more.
    lifted: these end by fewer instructions where sums may be floats from the beginning.
    zipped: weights of half a panel are put into the order of their instruction once for all pixels of a block.
    """

    template: ClassVar[str] = "conv_int8/panels.j2"
    heights: tuple[tuple[int, ...], ...] = ()
    split: tuple[int, ...] = ()
    narrow: int = 2
    held: int = 32 * 1024
    alone: bool = False
    together: int = 1
    kept_scales: bool = False
    by_two: bool = False
    whole: bool = False
    deep: bool = False
    halves: bool = False
    passing: bool = False
    joined: bool = False
    parts: bool = False
    lifted: bool = False
    zipped: bool = False
    even: bool = False
    tails: bool = False
    short_windows: bool = False
    gathered: int = 1
    lines: bool = False

    @property
    def all_heights(self) -> int:
        """As many pixels make whole tiles of each width."""
        return lcm(*(heights[0] for heights in self.heights))


def _tile(tile: MatrixTile, **facts: Any) -> ConvTile:
    """One that is as high for any width."""
    split = tuple(min(left, tile.panels) for left in range(1, PANELS_PER_ITEM + 1))
    return ConvTile(**vars(tile), heights=(tile.rows,) * tile.panels, split=split, **facts)


def _neon(vocabulary: str, **facts: bool) -> ConvTile:
    return _tile(MATRIX_TILES[vocabulary], together=2, kept_scales=True, by_two=True, **facts)


@dataclass(frozen=True)
class WidenedTile:
    """A panel in `units` registers a pixel of `rows` pixels, the most first; `held` codes are widened at once."""

    template: ClassVar[str] = "conv_int8/widened.j2"
    rows: tuple[int, ...]
    units: int
    held: int = 56 * 1024


NEON = ("neon", "dotprod", "i8mm", "neon32")
TILES = {vocabulary: _tile(tile) for vocabulary, tile in MATRIX_TILES.items()} | {
    "neon": _neon("neon", whole=True, passing=True, joined=True, parts=True, lifted=True),
    "dotprod": _neon("dotprod", whole=True, deep=True, passing=True, joined=True, parts=True, lifted=True),
    "i8mm": _neon("i8mm", whole=True, halves=True, passing=True, joined=True, zipped=True, lifted=True),
    "neon32": _neon("neon32", whole=True, halves=True),
    # Two panels for a single pixel alone, which else has too few sums under way
    "avxvnni": ConvTile((6, 2, 1), 2, 2, heights=((6, 2, 1), (1,)), split=(1, 2) * 4, alone=True, together=2, even=True),
    # 31 registers at most: sums, weights and the pixel that passes
    "avx512vnni": ConvTile(
        (14, 7, 4, 1),
        4,
        1,
        heights=((14, 7, 1), (14, 7, 1), (7, 1), (4, 1)),
        split=(1, 2, 3, 4, 3, 4, 4, 4),
        together=4,
        even=True,
        tails=True,
        short_windows=True,
        gathered=4,
        lines=True,
    ),
}
HEADERS = {
    "avxvnni": ("int8_packed_avx2.h", "int8_multiples.h", "int8_added_avxvnni.h"),
    "avx512vnni": ("int8_packed_avx512.h", "int8_multiples.h", "int8_added_avx512.h", "int8_tails_avx512.h"),
    **dict.fromkeys(("neon", "dotprod"), ("int8_two_neon.h", "int8_packed_neon.h", "int8_lifted_neon.h", "int8_joined.h")),
    "i8mm": ("int8_packed_neon.h", "int8_lifted_neon.h", "int8_joined.h"), "neon32": ("int8_two_neon.h", "int8_packed_neon.h"),
}  # fmt: skip
GATHERING = dict.fromkeys(("neon", "dotprod", "i8mm"), ("int8_gather_neon.h",))
SHORT_HEADERS = {
    "avx512vnni": ("int8_gather_avx512.h", "int8_floating_avx512.h", "int8_lines_avx512.h")
}  # after those for windows of any length
WIDENED = {"avx2": WidenedTile((6, 2, 1), 2)}
WIDENED_HEADERS = {"avx2": ("int8_packed_avx2.h", "int8_widened_avx2.h")}


def _wide(depth: int, vocabularies: Collection[str]) -> int:
    """Bytes of widened codes and of the weights of a panel, `depth` of a pixel and of a channel, where they are widened."""
    tiles = [WIDENED[vocabulary] for vocabulary in vocabularies if vocabulary in WIDENED]
    pixels = [max(min(PIXEL_BLOCK, tile.held // depth), tile.rows[0]) for tile in tiles]
    return lines(2 * depth * max((LANES + most for most in pixels), default=0))


def _zipped(depth: int, vocabularies: Collection[str]) -> int:
    """Bytes of weights of half a panel, `depth` of a channel, where they are zipped."""
    return LANES // 2 * depth if any(TILES[vocabulary].zipped for vocabulary in vocabularies if vocabulary in TILES) else 0


def _panels_scratch(arguments: Any, vocabularies: Collection[str]) -> int:
    inputs = round_up(arguments.in_channels, input_multiple(vocabularies))
    return conv_scratch(1)(arguments, vocabularies) + _zipped(taps(arguments.window) * inputs, vocabularies)


def _widened_scratch(arguments: Any, vocabularies: Collection[str]) -> int:
    """A pixel of padding too."""
    inputs = round_up(arguments.in_channels, input_multiple(vocabularies))
    return lines(arguments.in_channels + LANES) + _wide(taps(arguments.window) * inputs, vocabularies)


def _shares_weights(arguments: Any, _: Collection[str] = ()) -> bool:
    """Whether enough pixels are multiplied by weights to widen these first."""
    return bound(out_pixels(arguments.window)) >= LANES


def _merged_scratch(arguments: Any, vocabularies: Collection[str]) -> int:
    """Pointers to the gathered windows of a block, these, or those of more blocks, and what widening takes."""
    depth = round_up(taps(arguments.window) * arguments.in_channels, input_multiple(vocabularies))
    block = PIXEL_BLOCK * (depth + SLACK)
    tiles = [TILES[vocabulary] for vocabulary in vocabularies if vocabulary in TILES]
    blocks = max((1 + min(tile.gathered - 1, tile.held * 3 // 4 // block) for tile in tiles), default=1)
    gathered = lines(8 * PIXEL_BLOCK) + lines(blocks * block)
    held = _lines_scratch(arguments) if any(tile.lines for tile in tiles) else 0
    return max(gathered, held) + _wide(depth, vocabularies) + _zipped(depth, vocabularies)


def _lines_scratch(arguments: Any) -> int:
    """Lines of three rows of the image and of what is outside of it, what is left of their windows, and weights in the order of these."""
    w: Window = arguments.window
    width = bound(expr(w.out_width))
    line = lines(LINE_BEFORE + ((width - 1) * w.stride_width + w.kernel_width) * arguments.in_channels + LINE_SLACK)
    return 4 * line + round_up(width, LANES) * 4 + LINE_CODES * lanes_of(arguments)


def merges(arguments: Any) -> bool:
    """Windows over images of few channels, whose pixels are next to each other in memory, where fewer steps of inputs result."""
    w: Window = arguments.window
    near = w.kernel_width > 1 and w.dilation_width == 1 and expr(w.in_pixel_stride) == expr(arguments.in_channels)
    fewer = round_up(taps(w) * arguments.in_channels, 4) < 4 * taps(w)
    return near and fewer and arguments.groups == 1 and arguments.in_channels < 4


def _merged_weights(arguments: Any) -> int:
    """Elements of packed weights at least."""
    elements: int = lanes_of(arguments) * taps(arguments.window) * arguments.in_channels
    return elements


def _pack_merged(arguments: Any, plain: np.ndarray, multiple: int) -> np.ndarray:
    """[panel][taps * in / 4][16][4]: the taps of an image with few channels are inputs of a single one."""
    return pack_int8(plain.reshape(1, arguments.out_channels, 1, -1), multiple)


MERGED_PACKING = Packing("panels of 16x4, one tap", {**PACKING.pack, "weights": _pack_merged}, input_multiple, {"weights": _merged_weights})
MERGED_HEADERS = {
    name: (*HEADERS.get(name, ()), *WIDENED_HEADERS.get(name, ()), *GATHERING.get(name, ()), "int8_merged.h", *SHORT_HEADERS.get(name, ()))
    for name in TILES
}
MERGED = Variant("merged", conv_items, _merged_scratch, {**TILES, **WIDENED}, MERGED_PACKING, merges, "conv_int8/merged", MERGED_HEADERS)


def _winograd(
    name: str, tiles: Mapping[str, WinogradTile], admits: Callable[[Any], bool], pays: Callable[[Any, Collection[str]], bool]
) -> Variant:  # fmt: skip
    headers = {vocabulary: WINOGRAD_HEADERS[vocabulary] for vocabulary in tiles}

    def bytes_of(arguments: Any, vocabularies: Collection[str]) -> int:
        return scratch(arguments, tiles, vocabularies)

    return Variant(name, conv_items, bytes_of, tiles, PACKING, admits, "conv_int8/winograd", headers, OUTDONE, pays)


WINOGRAD_LARGE = _winograd("winograd4", LARGE_TILES, admits_large, pays_large)
WINOGRAD_NARROW = _winograd("winograd4_narrow", NARROW_TILES, admits_narrow, pays_narrow)
WINOGRAD = _winograd("winograd", WINOGRAD_TILES, admits, pays)
_WIDENED = Variant(
    "widened", conv_items, _widened_scratch, WIDENED, PACKING, template="conv_int8/widened", headers=WIDENED_HEADERS, pays=_shares_weights
)
_PANELS = Variant("panels", conv_items, _panels_scratch, TILES, PACKING, headers=HEADERS)
VARIANTS = (dots("conv_int8/dots"), MERGED, WINOGRAD_LARGE, WINOGRAD_NARROW, WINOGRAD, _WIDENED, _PANELS)
FLOAT_VARIANTS = (dots("conv_int8_float/dots"), _WIDENED, _PANELS)
